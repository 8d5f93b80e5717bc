def _chunked(x):
    """In chunks, so that what is computed at a time fits into memory."""
    return da.from_array(np.asarray(x), chunks=_chunks(x), name=False)


def _chunks(x):
    """A worker has several chunks of the widest type at a time, and the results that nobody has fetched yet."""
    if _cluster is None:
        return "auto"
    limits = [w["memory_limit"] for w in _cluster.scheduler_info(n_workers=-1)["workers"].values()]
    most = min([limit // 256 for limit in limits if limit] + [dask.utils.parse_bytes("128 MiB")])
    return da.core.normalize_chunks("auto", x.shape, limit=most, dtype=x.dtype)


def _fetched(x):
    """A result as NumPy's. From a cluster block by block, since no worker need have room for all of it."""
    if _cluster is None:
        return np.asarray(x)
    x = da.asarray(x)
    out = np.empty(x.shape, x.dtype)
    blocks = _cluster.compute(list(x.to_delayed().ravel()))
    places = {}
    for block, place in zip(blocks, da.core.slices_from_chunks(x.chunks)):
        places.setdefault(block.key, []).append(place)
    for block, value in as_completed(blocks, with_results=True):
        for place in places[block.key]:
            out[place] = value
        block.release()
    return out


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


def _backwards(x, axis):
    return da.flip(x, axis)


def _nothing(x, larger):
    """What is never the largest, or the smallest, if x has NaN."""
    return x if x.dtype.kind != "f" else x.dtype.type(-np.inf if larger else np.inf)


def _scan(ufunc):
    """Within chunks, then each from where the one before it has come to."""

    def chunk(x, axis):
        return ufunc.accumulate(x, axis=axis, dtype=x.dtype)

    nothing = {np.multiply: 1, np.bitwise_and: -1}

    def scan(x, axis):
        limits = np.iinfo(x.dtype) if x.dtype.kind in "iu" else None
        if ufunc in (np.maximum, np.minimum):
            ident = (limits.min if ufunc is np.maximum else limits.max) if limits else ufunc is np.minimum
        else:
            ident = nothing.get(ufunc, 0)
        ident = np.array(ident).astype(x.dtype)[()]
        return da.reductions.cumreduction(chunk, ufunc, ident, x, axis=axis, dtype=x.dtype)

    return scan
