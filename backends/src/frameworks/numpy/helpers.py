def _pad(x, value, low, shape):
    """x, beginning at `low`, surrounded by value."""
    out = np.full(_shape(shape), value, x.dtype)
    into, of = [], []
    for before, size, n in zip(low, x.shape, out.shape):
        begin, end = max(before, 0), max(min(before + size, n), max(before, 0))
        into.append(slice(begin, end))
        of.append(slice(begin - before, end - before))
    out[tuple(into)] = x[tuple(of)]
    return out


def _c_div(a, b):
    """C's quotient, rounded towards zero. By zero it is all ones, or 1 for a negative dividend."""
    if np.ndim(b) == 0 and b > 0:
        return a // b if a.dtype.kind == "u" else (a + (a < 0) * (b - b.dtype.type(1))) // b
    one = b.dtype.type(1)
    divisor = np.where(b == 0, one, b)
    by_zero = np.where(a < 0, one, ~b.dtype.type(0))
    return np.where(b == 0, by_zero, (a - np.fmod(a, divisor)) // divisor)


def _c_rem(a, b):
    """C's remainder, with the dividend's sign. By zero it is the dividend."""
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))


def _shr(a, b):
    """a >> b with zeros, whatever the type."""
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    return (a.view(unsigned) >> b.view(unsigned)).view(a.dtype)


def _sar(a, b):
    """a >> b with copies of the topmost bit, whatever the type."""
    signed = np.dtype(f"i{a.dtype.itemsize}")
    bits = b.view(np.dtype(f"u{b.dtype.itemsize}"))
    count = np.minimum(bits, bits.dtype.type(8 * a.dtype.itemsize - 1)).view(signed)
    return (a.view(signed) >> count).view(a.dtype)


def _floor_div(a, b):
    """Rounded down; 0 where b is 0."""
    return np.where(b == 0, 0, a // np.where(b == 0, 1, b))


def _floor_mod(a, b):
    """What _floor_div leaves; a where b is 0."""
    return np.where(b == 0, a, a % np.where(b == 0, 1, b))


def _lines(init, x, axes):
    """x with these axes as one last axis, in order, and init before its first element."""
    kept = [d for d in range(x.ndim) if d not in axes]
    x = np.transpose(x, kept + list(axes))
    outer = x.shape[: len(kept)]
    count = 1
    for n in x.shape[len(kept) :]:
        count *= n
    start = np.broadcast_to(np.asarray(init, x.dtype), outer)[..., None]
    return np.concatenate([start, x.reshape(outer + (count,))], axis=-1)


def _in_order(ufunc, init, x, axes):
    """init, then x[0], x[1], ...: one after the other, as C does."""
    return ufunc.accumulate(_lines(init, x, axes), axis=-1)[..., -1]


def _one_by_one(step, init, x, axes):
    """As _in_order, for any step."""
    lines = _lines(init, x, axes)
    acc = lines[..., 0]
    for k in range(1, lines.shape[-1]):
        acc = step(acc, lines[..., k])
    return acc


def _place(lines, larger, first, keep):
    """Where along each line `if (x > m) m = x;` has its m from, or with keep `m = m > x ? m : x;`: which of
    two equal values it is, and what NaN does."""
    last = lines.shape[-1] - 1
    nan = lines != lines
    dropped = np.logical_or.accumulate(nan[..., ::-1], axis=-1)[..., ::-1] if keep else nan
    worst = -np.inf if larger else np.inf
    key = np.where(dropped, lines.dtype.type(worst), lines) if nan.any() else lines
    best = key.max(-1) if larger else key.min(-1)
    among = (lines == best[..., None]) & ~dropped
    at = among.argmax(-1) if first else last - among[..., ::-1].argmax(-1)
    return np.where(nan[..., -1], last, at) if keep else np.where(nan[..., 0], 0, at)


def _pick(lines, at):
    """The element of each line at that place."""
    return np.take_along_axis(lines, at[..., None], -1)[..., 0]


def _extreme(init, x, axes, larger, first, keep):
    """The result of `if (x > m) m = x;`, or with keep of `m = m > x ? m : x;`, for floats."""
    lines = _lines(init, x, axes)
    return _pick(lines, _place(lines, larger, first, keep))


def _arg_extreme(init, label, x, labels, axis, larger, first, keep):
    """The label of what _extreme finds."""
    at = _place(_lines(init, x, (axis,)), larger, first, keep)
    return _pick(_lines(label, labels, (axis,)), at)


def _start_lines(init, x, axis, reverse):
    """init and x[0], x[1], ... along the last axis; in reverse, init and x's last element first."""
    return _lines(init, np.flip(x, axis) if reverse else x, (axis,))


def _end_lines(lines, axis, exclusive, reverse):
    """Lines that begin with init's value as an array with this axis: all but the last, or but the first."""
    lines = lines[..., :-1] if exclusive else lines[..., 1:]
    return np.moveaxis(lines[..., ::-1] if reverse else lines, -1, axis)


def _running(ufunc, init, x, axis, exclusive, reverse):
    """What init, x[0], x[1], ... come to on the way: one after the other, as C does."""
    lines = _start_lines(init, x, axis, reverse)
    return _end_lines(ufunc.accumulate(lines, axis=-1, dtype=x.dtype), axis, exclusive, reverse)


def _running_one_by_one(step, init, x, axis, exclusive, reverse):
    """As _running, for any step."""
    lines = _start_lines(init, x, axis, reverse).copy()
    for k in range(1, lines.shape[-1]):
        lines[..., k] = step(lines[..., k - 1], lines[..., k])
    return _end_lines(lines, axis, exclusive, reverse)


def _running_extreme(init, x, axis, exclusive, reverse, larger, first, keep):
    """What _extreme finds on the way."""
    better = (np.greater if first else np.greater_equal) if larger else (np.less if first else np.less_equal)
    lines = _start_lines(init, x, axis, reverse)
    nan = np.isnan(lines)
    if keep and nan.any():
        # A NaN is kept until the next element comes.
        step = lambda a, b: np.where(better(b, a) | np.isnan(a) | np.isnan(b), b, a)
        return _running_one_by_one(step, init, x, axis, exclusive, reverse)
    worst = lines.dtype.type(-np.inf if larger else np.inf)
    key = np.where(nan, worst, lines)
    key[..., 0] = lines[..., 0]
    best = (np.maximum if larger else np.minimum).accumulate(key, axis=-1)
    found = np.zeros(lines.shape, np.int64)
    found[..., 1:] = better(lines[..., 1:], best[..., :-1]) * np.arange(1, lines.shape[-1])
    lines = np.take_along_axis(lines, np.maximum.accumulate(found, axis=-1), -1)
    return _end_lines(lines, axis, exclusive, reverse)


def _scatter(ufunc, start, at, x):
    """start, of which each place in `at` in turn becomes ufunc(what is there, x), or x."""
    out = start.copy()
    if ufunc is None:
        out[at] = x
    else:
        ufunc.at(out, at, x)
    return out


def _in_any_order(ufunc, init, x, axis):
    """The largest or smallest of init and x along these axes; x may be empty."""
    limits = (False, True) if x.dtype == np.bool_ else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    start = limits[0] if ufunc is np.maximum else limits[1]
    return ufunc(init, ufunc.reduce(x, axis=axis, initial=start))
