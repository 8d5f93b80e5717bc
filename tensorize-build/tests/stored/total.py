import numpy as np


def total(x, n):
    return np.sum(x[:n], dtype=np.float32)
