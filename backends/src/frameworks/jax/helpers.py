def _pad(x, value, low, shape):
    """x, beginning at `low`, surrounded by value."""
    around = [(before, n - before - size, 0) for before, size, n in zip(low, x.shape, _shape(shape))]
    return jax.lax.pad(x, jnp.asarray(value, x.dtype), around)


def _c_div(a, b):
    """C's quotient, rounded towards zero. By zero it is all ones, or 1 for a negative dividend."""
    a, b = jnp.broadcast_arrays(a, b)
    one = jnp.ones_like(b)
    by_zero = jnp.where(a < 0, one, ~jnp.zeros_like(b))
    return jnp.where(b == 0, by_zero, jax.lax.div(a, jnp.where(b == 0, one, b)))


def _c_rem(a, b):
    """C's remainder, with the dividend's sign. By zero it is the dividend."""
    a, b = jnp.broadcast_arrays(a, b)
    return jnp.where(b == 0, a, jax.lax.rem(a, jnp.where(b == 0, jnp.ones_like(b), b)))
