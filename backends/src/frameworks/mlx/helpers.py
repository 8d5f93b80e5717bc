def _axis(n, axis, rank):
    """0, 1, ... n-1 along one axis of `rank`."""
    return mx.arange(max(n, 0), dtype=mx.int64).reshape([-1 if d == axis else 1 for d in range(rank)])


def _gather(array, at):
    """array[at]; any value where that is outside."""
    if array.size == 0:
        return mx.zeros(at.shape, array.dtype)
    return mx.take(array, mx.clip(at.astype(mx.int64), 0, array.size - 1))


def _reverse(x, axes):
    return x[tuple(slice(None, None, -1) if d in axes else slice(None) for d in range(x.ndim))]


def _concatenate(xs, axis):
    return mx.concatenate(xs, axis=axis)


def _quotient(a, b):
    """MLX rounds down."""
    down = a // b
    return mx.where((down * b != a) & ((a < 0) != (b < 0)), down + mx.ones_like(down), down)


def _bits(x):
    return 8 * x.dtype.size


def _left(a, b):
    return a << b


def _right(a, b):
    return a >> b


def _max(x, axes):
    return mx.max(x, axis=axes)


def _min(x, axes):
    return mx.min(x, axis=axes)


def _transpose(x, order):
    return mx.transpose(x, order)


def _kept(x, axes):
    return tuple(n for d, n in enumerate(x.shape) if d not in axes)


def _reduce(fold, x, axes, nothing):
    """MLX has any value for a reduction of nothing, or does not come back from it."""
    return mx.full(_kept(x, axes), nothing, x.dtype) if 0 in x.shape else fold(x, axis=axes).astype(x.dtype)


def _sum(x, axes):
    return _reduce(mx.sum, x, axes, 0)


def _product(x, axes):
    return _reduce(mx.prod, x, axes, 1)


def _backwards(x, axis):
    return _reverse(x, (axis,))


def _nothing(x, larger):
    """What is never the largest, or the smallest, if x has NaN."""
    return x if mx.issubdtype(x.dtype, mx.integer) or x.dtype == mx.bool_ else mx.array(-np.inf if larger else np.inf, x.dtype)


def _scan(cumulate):
    return lambda x, axis: cumulate(x, axis=axis).astype(x.dtype)
