def _shape(shape):
    """C's sizes as a shape: a negative one is empty."""
    return tuple(max(int(n), 0) for n in shape)


def _row_major(shape):
    strides = [1] * len(shape)
    for d in range(len(shape) - 1, 0, -1):
        strides[d - 1] = strides[d] * shape[d]
    return strides


def _view(array, shape, strides=None, offset=0):
    """The elements array[offset + i*strides[0] + j*strides[1] + ...], not copied."""
    shape = _shape(shape)
    if 0 in shape:
        return np.empty(shape, array.dtype)
    strides = _row_major(shape) if strides is None else strides
    reach = [(n - 1) * s for n, s in zip(shape, strides)]
    first = offset + sum(r for r in reach if r < 0)
    last = offset + sum(r for r in reach if r > 0)
    if first < 0 or last >= array.size:
        raise IndexError(f"elements {first} to {last} of an array of {array.size}")
    steps = [s * array.strides[0] for s in strides]
    return np.lib.stride_tricks.as_strided(array[offset:], shape, steps)


def _read(array, shape, strides=None, offset=0):
    """As _view, to read from. What lies outside of the array has any value: nobody uses it."""
    try:
        return _view(array, shape, strides, offset)
    except IndexError:
        shape = _shape(shape)
        strides = _row_major(shape) if strides is None else strides
        at = offset + sum(i * s for i, s in zip(np.indices(shape, sparse=True), strides))
        if array.size == 0:
            return np.zeros(shape, array.dtype)
        return np.take(array, np.broadcast_to(at, shape), mode="clip")


def _int(value, dtype):
    """An integer, wrapped to the width of dtype; for a float type, the nearest value."""
    if not isinstance(value, (np.ndarray, np.generic)):
        value = np.int64((value + 2**63) % 2**64 - 2**63) if value < 2**63 else np.uint64(value)
    return value.astype(dtype)
