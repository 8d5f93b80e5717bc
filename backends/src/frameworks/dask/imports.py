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
    try:
        _cluster = default_client()
    except ValueError:
        _cluster = Client(os.environ["TENSORIZE_DASK_SCHEDULER"])
