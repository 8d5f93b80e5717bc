def _chunked(x):
    """In chunks, so that what is computed at a time fits into memory."""
    return da.from_array(np.asarray(x), chunks="auto", name=False)


def _concatenate(xs, axis):
    return da.concatenate(xs, axis=axis)


def _quotient(a, b):
    return (a - da.fmod(a, b)) // b


def _bits(x):
    return 8 * x.dtype.itemsize


def _left(a, b):
    return a << b


def _right(a, b):
    return a >> b


def _max(x, axes):
    return x.max(axis=axes)


def _min(x, axes):
    return x.min(axis=axes)


def _kept(x, axes):
    return tuple(n for d, n in enumerate(x.shape) if d not in axes)


def _sum(x, axes):
    return da.zeros(_kept(x, axes), dtype=x.dtype) if 0 in x.shape else x.sum(axis=axes, dtype=x.dtype)


def _product(x, axes):
    return da.ones(_kept(x, axes), dtype=x.dtype) if 0 in x.shape else x.prod(axis=axes, dtype=x.dtype)
