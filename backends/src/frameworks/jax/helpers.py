def _pad(x, value, low, shape):
    """x, beginning at `low`, surrounded by value."""
    around = [(before, n - before - size, 0) for before, size, n in zip(low, x.shape, _shape(shape))]
    return jax.lax.pad(x, jnp.asarray(value, x.dtype), around)


def _quotient(a, b):
    """C's quotient by what is not zero."""
    return jax.lax.div(*jnp.broadcast_arrays(a, b))


def _c_div(a, b):
    """C's quotient, rounded towards zero. By zero it is all ones, or 1 for a negative dividend."""
    one = jnp.ones_like(b)
    by_zero = jnp.where(a < 0, one, ~jnp.zeros_like(b))
    return jnp.where(b == 0, by_zero, _quotient(a, jnp.where(b == 0, one, b)))


def _c_rem(a, b):
    """C's remainder, with the dividend's sign. By zero it is the dividend."""
    a, b = jnp.broadcast_arrays(a, b)
    return jnp.where(b == 0, a, jax.lax.rem(a, jnp.where(b == 0, jnp.ones_like(b), b)))


def _running(step, init, x, axis, exclusive, reverse):
    """What init, x[0], x[1], ... come to on the way: one after the other, as C does."""
    x = jnp.moveaxis(x, axis, 0)
    init = jnp.broadcast_to(jnp.asarray(init, x.dtype), x.shape[1:])

    def one(before, element):
        after = step(before, element)
        return after, before if exclusive else after

    return jnp.moveaxis(jax.lax.scan(one, init, x, reverse=reverse)[1], 0, axis)


def _one_by_one(step, init, x, axes):
    """What init, x[0], x[1], ... come to in the end, along these axes in order."""
    kept = [d for d in range(x.ndim) if d not in axes]
    count = 1
    for d in axes:
        count *= x.shape[d]
    outer = tuple(x.shape[d] for d in kept)
    lines = jnp.transpose(x, list(axes) + kept).reshape((count,) + outer)
    init = jnp.broadcast_to(jnp.asarray(init, x.dtype), outer)
    return jax.lax.scan(lambda acc, element: (step(acc, element), None), init, lines)[0]


def _takes(best, x, larger, first, keep):
    """Whether `if (x > m) m = x;` takes x, or with keep `m = m > x ? m : x;`: which of two equal ones it is."""
    strict = first != keep
    if larger:
        compare = jnp.greater if strict else jnp.greater_equal
    else:
        compare = jnp.less if strict else jnp.less_equal
    return ~compare(best, x) if keep else compare(x, best)


def _running_extreme(init, x, axis, exclusive, reverse, larger, first, keep):
    """The largest or smallest on the way."""
    step = lambda best, x: jnp.where(_takes(best, x, larger, first, keep), x, best)
    return _running(step, init, x, axis, exclusive, reverse)


def _arg_extreme(init, label, x, labels, axis, larger, first, keep):
    """The label of the largest or smallest."""
    x, labels = jnp.moveaxis(x, axis, 0), jnp.moveaxis(labels, axis, 0)
    start = [jnp.broadcast_to(jnp.asarray(s, e.dtype), e.shape[1:]) for s, e in ((init, x), (label, labels))]

    def one(best, element):
        takes = _takes(best[0], element[0], larger, first, keep)
        return [jnp.where(takes, new, old) for new, old in zip(element, best)], None

    return jax.lax.scan(one, start, [x, labels])[0][1]
