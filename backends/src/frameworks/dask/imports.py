import os
import warnings

import dask.array as da
import numpy as np

# The threads that compute don't know of NumPy's settings here.
warnings.filterwarnings("ignore", category=RuntimeWarning)
if os.environ.get("TENSORIZE_DASK_SCHEDULER"):
    from dask.distributed import Client, default_client

    try:
        default_client()
    except ValueError:
        Client(os.environ["TENSORIZE_DASK_SCHEDULER"])
