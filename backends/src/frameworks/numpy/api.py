def _gather(array, at):
    """array[at]; any value where that is outside."""
    if array.size == 0:
        return xp.zeros(xp.shape(at), array.dtype)
    return xp.take(array, xp.asarray(at).astype(xp.int64), mode="clip")


def _axis(n, axis, rank):
    """0, 1, ... n-1 along one axis of `rank`."""
    return xp.arange(max(n, 0)).reshape([-1 if d == axis else 1 for d in range(rank)])


def _full(x, shape):
    """All of `shape`, where x may still lack axes to be broadcast."""
    return xp.broadcast_to(x, _shape(shape))


def _slice(x, start, shape, stride):
    """x[start + i*stride] along each axis; any value outside of x."""
    for d, (first, n, step) in enumerate(zip(start, _shape(shape), stride)):
        if first >= 0 and first + (n - 1) * step < x.shape[d]:
            x = x[(slice(None),) * d + (slice(first, first + n * step, step),)]
        elif x.shape[d] == 0:
            x = xp.zeros(x.shape[:d] + (n,) + x.shape[d + 1 :], x.dtype)
        else:
            x = xp.take(x, first + step * xp.arange(n), axis=d, mode="clip")
    return x


def _maximum(a, b):
    """The larger; NaN if there is one; of two zeros, the positive one."""
    return xp.where(a == b, xp.where(xp.signbit(a), b, a), xp.maximum(a, b))


def _minimum(a, b):
    """The smaller; NaN if there is one; of two zeros, the negative one."""
    return xp.where(a == b, xp.where(xp.signbit(a), a, b), xp.minimum(a, b))


def _round(x):
    """To the nearest integer, halves away from zero."""
    t = xp.trunc(x)
    return t + xp.copysign((xp.abs(x - t) >= 0.5).astype(x.dtype), x)
