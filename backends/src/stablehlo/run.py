@functools.lru_cache(maxsize=256)
def _compiled(program, sizes):
    """The program for these sizes, compiled."""
    text = string.Template(program).substitute(dict(sizes))
    device = jax.devices()[0]
    options = xla_client.CompileOptions()
    return device.client.compile_and_load(text, xla_client.DeviceList((device,)), options)


def _run(program, tensors, sizes):
    """What a program computes of these tensors; a list, if it is more than one."""
    executable = _compiled(program, tuple(sizes.items()))
    results = executable.execute(jax.device_put(list(tensors), jax.devices()[0]))
    return results[0] if len(results) == 1 else results


def _elements(array):
    """All of an array, and one element at least: nothing can be picked from none."""
    return array if array.size else np.zeros(1, array.dtype)
