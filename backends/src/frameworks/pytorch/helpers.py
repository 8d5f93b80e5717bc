def _tensor(x):
    """On the device that computes: on a CPU, the same memory, unless that runs backwards."""
    x = np.asarray(x)
    x = x.copy() if any(s < 0 for s in x.strides) else x
    return torch.from_numpy(x).to(torch.get_default_device())


def _axis(n, axis, rank):
    """0, 1, ... n-1 along one axis of `rank`."""
    return torch.arange(max(n, 0)).reshape([-1 if d == axis else 1 for d in range(rank)])


def _gather(array, at):
    """array[at]; any value where that is outside."""
    if array.numel() == 0:
        return torch.zeros(at.shape, dtype=array.dtype)
    return array[at.to(torch.int64).clamp(0, array.numel() - 1)]


def _concatenate(xs, axis):
    return torch.cat(xs, dim=axis)


def _quotient(a, b):
    return torch.div(a, b, rounding_mode="trunc")


def _bits(x):
    return torch.iinfo(x.dtype).bits


def _left(a, b):
    return a << b


def _right(a, b):
    return a >> b


def _max(x, axes):
    return torch.amax(x, dim=axes)


def _min(x, axes):
    return torch.amin(x, dim=axes)


def _product(x, axes):
    for axis in sorted(axes, reverse=True):
        x = torch.prod(x, dim=axis, dtype=x.dtype)
    return x


def _matmul(a, b):
    """a @ b of integers: on a GPU, which has no such product, products and then their sums."""
    if not a.is_cuda:
        return a @ b
    return _sum(a * b, (-1,)) if b.ndim == 1 else _sum(a[..., None] * b, (-2,))


def _contraction(spec, a, b):
    """einsum of integers, likewise."""
    return _einsum(spec, a, b) if a.is_cuda else torch.einsum(spec, a, b)


def _transpose(x, order):
    return torch.permute(x, order)


def _sum(x, axes):
    return torch.sum(x, dim=axes, dtype=x.dtype)


def _maximum(a, b):
    """The larger; NaN if there is one; of two zeros, the positive one."""
    return torch.where(a == b, torch.where(torch.signbit(a), b, a), torch.maximum(a, b))


def _minimum(a, b):
    """The smaller; NaN if there is one; of two zeros, the negative one."""
    return torch.where(a == b, torch.where(torch.signbit(a), a, b), torch.minimum(a, b))


def _one_by_one(step, init, x, axes):
    """What init, x[0], x[1], ... come to, along these axes in order: one after the other, as C does."""
    kept = [d for d in range(x.ndim) if d not in axes]
    lines = torch.permute(x, kept + list(axes)).flatten(len(kept))
    acc = torch.broadcast_to(torch.as_tensor(init, dtype=x.dtype), lines.shape[:-1])
    for element in lines.unbind(-1):
        acc = step(acc, element)
    return acc


def _running(step, init, x, axis, exclusive, reverse):
    """What they come to on the way."""
    elements = x.unbind(axis)
    outer = x.shape[:axis] + x.shape[axis + 1 :]
    after = torch.broadcast_to(torch.as_tensor(init, dtype=x.dtype), outer)
    states = []
    for element in reversed(elements) if reverse else elements:
        before, after = after, step(after, element)
        states.append(before if exclusive else after)
    return torch.stack(states[::-1] if reverse else states, axis) if states else x


def _arg_extreme(init, label, x, labels, axis, larger, first, keep):
    """The label of what `if (x > m) m = x;` keeps, or with keep `m = m > x ? m : x;`: which of two equal ones it is."""
    strict = first != keep
    if larger:
        compare = torch.gt if strict else torch.ge
    else:
        compare = torch.lt if strict else torch.le
    outer = x.shape[:axis] + x.shape[axis + 1 :]
    best = torch.broadcast_to(torch.as_tensor(init, dtype=x.dtype), outer)
    at = torch.broadcast_to(torch.as_tensor(label, dtype=labels.dtype), outer)
    for element, its_label in zip(x.unbind(axis), labels.unbind(axis)):
        takes = ~compare(best, element) if keep else compare(element, best)
        best, at = torch.where(takes, element, best), torch.where(takes, its_label, at)
    return at
