def _full(x, shape):
    """All of `shape`, where x may still lack axes to be broadcast."""
    return xp.broadcast_to(x, _shape(shape))


def _along(d, first, end, step=1):
    return (slice(None),) * d + (slice(first, end, step),)


def _slice(x, start, shape, stride):
    """x[start + i*stride] along each axis; any value outside of x."""
    for d, (first, n, step) in enumerate(zip(start, _shape(shape), stride)):
        if n == 0:
            x = x[_along(d, 0, 0)]
        elif first >= 0 and first + (n - 1) * step < x.shape[d]:
            x = x[_along(d, first, first + (n - 1) * step + 1, step)]
        else:
            at = [min(max(first + step * i, 0), x.shape[d] - 1) for i in range(n)]
            x = _concatenate([x[_along(d, i, i + 1)] for i in at], d)
    return x


def _pad(x, value, low, shape):
    """x, beginning at `low`, surrounded by value."""
    for d, (before, n) in enumerate(zip(low, _shape(shape))):
        before = min(before, n)
        x = x[_along(d, 0, n - before)]
        around = [tuple(x.shape[:d]) + (k,) + tuple(x.shape[d + 1 :]) for k in (before, n - before - x.shape[d])]
        x = _concatenate([xp.broadcast_to(value, around[0]), x, xp.broadcast_to(value, around[1])], d)
    return x


def _c_div(a, b):
    """C's quotient, rounded towards zero. By zero it is all ones, or 1 for a negative dividend."""
    one = xp.ones_like(b)
    by_zero = xp.where(a < 0, one, ~xp.zeros_like(b))
    # The processor would stop at what overflows.
    negated = (b < 0) & (b + one == 0)
    quotient = _quotient(a, xp.where((b == 0) | negated, one, b))
    return xp.where(b == 0, by_zero, xp.where(negated, ~a + xp.ones_like(a), quotient))


def _c_rem(a, b):
    """C's remainder, with the dividend's sign. By zero it is the dividend."""
    return a - _c_div(a, b) * b


def _shl(a, b):
    """a << b; nothing is left at the width or more."""
    inside = (b >= 0) & (b < _bits(a))
    return xp.where(inside, _left(a, xp.where(inside, b, xp.zeros_like(b))), xp.zeros_like(a))


def _sar(a, b):
    """a >> b with copies of a signed number's topmost bit, zeros for an unsigned one."""
    inside = (b >= 0) & (b < _bits(a))
    half = xp.where(inside, b, xp.zeros_like(b) + (_bits(a) - 1))
    shifted = _right(a, half)
    return xp.where(inside, shifted, xp.where(a < 0, shifted, xp.zeros_like(a)))


def _shr(a, b):
    """a >> b with zeros, for a signed type."""
    inside = (b > 0) & (b < _bits(a))
    count = xp.where(inside, b, xp.ones_like(b))
    kept = ~_left(~xp.zeros_like(b), _bits(a) - count)
    return xp.where(inside, _right(a, count) & kept, xp.where(b == 0, a, xp.zeros_like(a)))


def _round(x):
    """To the nearest integer, halves away from zero."""
    t = xp.where(x < 0, xp.ceil(x), xp.floor(x))
    return xp.where(xp.abs(x - t) >= 0.5, t + xp.sign(x), t)


def _extreme(larger, start, x, axes):
    """The largest or smallest of start and x along these axes; x may be empty."""
    if 0 in x.shape:
        kept = tuple(n for d, n in enumerate(x.shape) if d not in axes)
        return xp.broadcast_to(start, kept)
    return larger(start, _max(x, axes) if larger is xp.maximum else _min(x, axes))


def _einsum(spec, a, b):
    """As einsum, for integers: products, then their sums."""
    left, right, out = spec.replace("->", ",").split(",")
    every = out + "".join(c for c in dict.fromkeys(left + right) if c not in out)

    def spread(x, letters):
        order = [letters.index(c) for c in every if c in letters]
        return _transpose(x, order)[tuple(slice(None) if c in letters else None for c in every)]

    products = spread(a, left) * spread(b, right)
    axes = tuple(range(len(out), len(every)))
    return _sum(products, axes) if axes else products


def _one(x, axis):
    """With an axis of one element more."""
    return x[(slice(None),) * axis + (None,)]


def _before(init, x, axis):
    """The start of a fold along the axis, as an element of it."""
    outer = tuple(x.shape[:axis]) + tuple(x.shape[axis + 1 :])
    return _one(xp.broadcast_to(init, outer), axis)


def _scanned(scan, step, init, x, axis, exclusive, reverse):
    """What init, x[0], x[1], ... come to on the way, for a step that may be taken in any order."""
    if 0 in x.shape:
        return x
    x = _backwards(x, axis) if reverse else x
    first = _before(init, x, axis)
    if exclusive:
        x = _concatenate([first, x[_along(axis, 0, x.shape[axis] - 1)]], axis)
        after = scan(x, axis)
    else:
        after = step(first, scan(x, axis))
    return _backwards(after, axis) if reverse else after


def _doubling(step):
    """A scan by this step, that reaches twice as far each time."""

    def scan(x, axis):
        n, reach = x.shape[axis], 1
        while reach < n:
            further = step(x[_along(axis, 0, n - reach)], x[_along(axis, reach, n)])
            x, reach = _concatenate([x[_along(axis, 0, reach)], further], axis), 2 * reach
        return x

    return scan


def _arg_extreme(init, label, x, labels, axis, larger, first, keep):
    """The label of what `if (x > m) m = x;` keeps, or with keep `m = m > x ? m : x;`: which of two equal ones it is."""
    n = x.shape[axis]
    if 0 in x.shape:
        return xp.broadcast_to(label, tuple(x.shape[:axis]) + tuple(x.shape[axis + 1 :]))
    lines = _concatenate([_before(init, x, axis), x], axis)
    labels = _concatenate([_before(label, labels, axis), labels], axis)
    place = xp.broadcast_to(_axis(n + 1, axis, len(x.shape)), tuple(lines.shape))
    nan, none = lines != lines, xp.zeros_like(place) - 1
    # With keep, what comes after a NaN is taken, whatever there was before.
    since = _max(xp.where(nan, place, none), (axis,))
    dropped = place <= _one(since, axis) if keep else nan
    fold = _max if larger else _min
    some = xp.where(dropped, _nothing(lines, larger), lines)
    among = (lines == _one(fold(some, (axis,)), axis)) & ~dropped
    at = _min(xp.where(among, place, none + n + 1), (axis,)) if first else _max(xp.where(among, place, none), (axis,))
    if keep:
        at = xp.where(since == n, since, at)
    else:
        begins = _max(xp.where(nan & (place == 0), place + 1, none), (axis,))
        at = xp.where(begins == 1, xp.zeros_like(at), at)
    return _sum(xp.where(place == _one(at, axis), labels, xp.zeros_like(labels)), (axis,))
