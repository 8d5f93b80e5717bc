import os
import warnings

import numpy as np
import torch

# Arrays that may not be written to are only read.
warnings.filterwarnings("ignore", message="The given NumPy array is not writ")
if torch.cuda.is_available():
    torch.set_default_device("cuda")


def _compiled(function):
    """Compiled if that is asked for: the first call of each size takes seconds."""
    return torch.compile(function) if os.environ.get("TENSORIZE_TORCH_COMPILE") == "1" else function
