def _tensor(x):
    """On the device that computes: on a CPU, the same memory, unless that runs backwards."""
    x = np.asarray(x)
    x = x.copy() if any(s < 0 for s in x.strides) else x
    return torch.from_numpy(x).to(DEVICE)
