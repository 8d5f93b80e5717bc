import os
import warnings

import dask
import dask.array as da
import numpy as np

# The threads that compute don't know of NumPy's settings here.
warnings.filterwarnings("ignore", category=RuntimeWarning)
_cluster = None
if os.environ.get("TENSORIZE_DASK_SCHEDULER"):
    from dask.distributed import Client, as_completed, default_client

    # A graph holds the arrays' chunks: a worker is given what it needs, and what one loses another is given again.
    warnings.filterwarnings("ignore", message="Sending large graph")
    _address = os.environ["TENSORIZE_DASK_SCHEDULER"]
    # Each kernel has a module of its own: nobody waits a second time.
    if dask.config.get("tensorize.silent", None) == _address:
        raise OSError(f"the scheduler at {_address} did not answer before")
    try:
        _cluster = default_client()
    except ValueError:
        try:
            _cluster = Client(_address)
        except Exception:
            dask.config.set({"tensorize.silent": _address})
            raise
