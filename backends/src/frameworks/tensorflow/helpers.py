def _axis(n, axis, rank):
    """0, 1, ... n-1 along one axis of `rank`."""
    return tf.reshape(tf.range(max(n, 0), dtype=tf.int64), [-1 if d == axis else 1 for d in range(rank)])


def _gather(array, at):
    """array[at]; any value where that is outside."""
    if 0 in array.shape:
        return tf.zeros(at.shape, array.dtype)
    return tf.gather(array, tf.clip_by_value(tf.cast(at, tf.int64), 0, array.shape[0] - 1))


def _concatenate(xs, axis):
    return tf.concat(xs, axis=axis)


def _quotient(a, b):
    return tf.truncatediv(a, b)


def _bits(x):
    return 8 * x.dtype.size


def _left(a, b):
    return tf.bitwise.left_shift(*_together(a, b))


def _right(a, b):
    return tf.bitwise.right_shift(*_together(a, b))


def _together(a, b):
    shape = tf.broadcast_static_shape(a.shape, b.shape)
    return tf.broadcast_to(a, shape), tf.broadcast_to(b, shape)


def _max(x, axes):
    return tf.reduce_max(x, axis=axes)


def _min(x, axes):
    return tf.reduce_min(x, axis=axes)


def _transpose(x, order):
    return tf.transpose(x, order)


def _sum(x, axes):
    return tf.reduce_sum(x, axis=axes)


def _round(x):
    """To the nearest integer, halves away from zero."""
    t = tf.where(x < 0, tf.math.ceil(x), tf.floor(x))
    return tf.where(tf.abs(x - t) >= 0.5, t + tf.sign(x), t)


def _backwards(x, axis):
    return tf.reverse(x, axis=[axis])


def _nothing(x, larger):
    """What is never the largest, or the smallest."""
    return tf.constant(x.dtype.min if larger else x.dtype.max, x.dtype) if x.dtype.is_integer else tf.constant(-np.inf if larger else np.inf, x.dtype)


def _running(step, init, x, axis, exclusive, reverse):
    """What init, x[0], x[1], ... come to on the way: one after the other, as C does."""
    if 0 in x.shape:
        return x
    order = [axis] + [d for d in range(len(x.shape)) if d != axis]
    back = [order.index(d) for d in range(len(order))]
    x = tf.transpose(x, order)
    first = tf.broadcast_to(init, x.shape[1:])
    after = tf.scan(step, x, initializer=first, reverse=reverse)
    if exclusive:
        one = first[None]
        after = tf.concat([after[1:], one] if reverse else [one, after[:-1]], 0)
    return tf.transpose(after, back)
