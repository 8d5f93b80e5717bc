import warnings

import numpy as np
import torch

# Arrays that may not be written to are only read.
warnings.filterwarnings("ignore", message="The given NumPy array is not writ")
# Habana's bridge brings the device. Where there is none, PyTorch's own stands in for it.
try:
    import habana_frameworks.torch.core as bridge
    import habana_frameworks.torch.hpu as hpu

    EMULATED = not hpu.is_available()
except ImportError:
    EMULATED = True
DEVICE = torch.device("cpu" if EMULATED else "hpu")


def _on_device(function):
    """What the function makes is on the device, too; what it has put together runs at its end."""

    def call(*arguments):
        with DEVICE:
            results = function(*arguments)
        if not EMULATED:
            bridge.mark_step()
        return results

    return call
