"""The kernels of tests/projects/speed as one writes them in NumPy and in PyTorch.

Reads a line "KERNEL ELEMENTS" for each, and prints {"kernel", "elements", "numpy_ns", "numpy_spread", "pytorch_ns",
"pytorch_spread"} for each: medians of nine rounds and the distance between the quartiles in relation to them, null where
a framework is not installed. First comes {"copy_gb_s", "peak_gflop_s"}: the machine's bandwidth in copying large arrays
(read and written, all cores), and the most that the BLAS of NumPy makes of a product of large matrices.
"""

import json
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count, environ

import numpy as np

try:
    import torch
except ImportError:
    torch = None


def rounds_ns(call):
    """What a call takes in each of nine rounds, the shortest first."""
    start = time.perf_counter_ns()
    call()
    once = max(time.perf_counter_ns() - start, 1)
    calls = int(min(max(2e6 / once, 1), 10_000))
    rounds = []
    for _ in range(9):
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        rounds.append((time.perf_counter_ns() - start) / calls)
    return sorted(rounds)


def timed(framework, call):
    rounds = rounds_ns(call)
    return {f"{framework}_ns": rounds[4], f"{framework}_spread": (rounds[6] - rounds[2]) / rounds[4]}


def numpy_kernel(kernel, n):
    r = np.random.default_rng(1)
    side = math.isqrt(n)
    x, y, z = (r.random(n, dtype=np.float32) for _ in range(3))
    out = np.empty_like(x)
    if kernel == "screen":
        a, b = (r.integers(0, 256, n, dtype=np.uint8) for _ in range(2))

        def screen():
            x, y = a.astype(np.int32), b.astype(np.int32)
            return (x + y - x * y // 255).astype(np.uint8)
        return screen
    if kernel == "scale_add":
        return lambda: np.add(np.multiply(x, np.float32(1.5), out=out), y, out=out)
    if kernel == "blend_twice":
        def blend():
            multiplied = (x + y - x * y) * x
            return z * multiplied + (1 - z) * x
        return blend
    if kernel == "dot":
        return lambda: np.dot(x, y)
    if kernel == "rmsnorm":
        return lambda: y * (x / np.sqrt(np.mean(x * x) + np.float32(1e-5)))
    if kernel == "softmax":
        def softmax():
            e = np.exp(x - x.max())
            return e / e.sum()
        return softmax
    m = x.reshape(side, side)
    if kernel == "matvec":
        return lambda: m @ y[:side]
    if kernel == "matmul":
        return lambda: m @ y.reshape(side, side)
    if kernel == "attention":
        keys, values = y.reshape(side, side), z.reshape(side, side)
        def attention():
            score = m @ keys.T / np.float32(math.sqrt(side))
            e = np.exp(score - score.max(axis=1, keepdims=True))
            return e / e.sum(axis=1, keepdims=True) @ values
        return attention
    raise SystemExit(f"no peer for {kernel}")


def torch_kernel(kernel, n):
    side = math.isqrt(n)
    x, y, z = (torch.rand(n) for _ in range(3))
    if kernel == "screen":
        a, b = (torch.randint(0, 256, (n,), dtype=torch.uint8) for _ in range(2))

        def screen():
            x, y = a.to(torch.int32), b.to(torch.int32)
            return (x + y - torch.div(x * y, 255, rounding_mode="trunc")).to(torch.uint8)
        return screen
    if kernel == "scale_add":
        return lambda: torch.add(y, x, alpha=1.5)
    if kernel == "blend_twice":
        def blend():
            multiplied = (x + y - x * y) * x
            return z * multiplied + (1 - z) * x
        return blend
    if kernel == "dot":
        return lambda: torch.dot(x, y)
    if kernel == "rmsnorm":
        return lambda: torch.nn.functional.rms_norm(x, (n,), y, 1e-5)
    if kernel == "softmax":
        return lambda: torch.softmax(x, 0)
    m = x.reshape(side, side)
    if kernel == "matvec":
        return lambda: m @ y[:side]
    if kernel == "matmul":
        return lambda: m @ y.reshape(side, side)
    if kernel == "attention":
        q, keys, values = (a.reshape(1, 1, side, side) for a in (x, y, z))
        return lambda: torch.nn.functional.scaled_dot_product_attention(q, keys, values)
    raise SystemExit(f"no peer for {kernel}")


def machine():
    # As many as the frameworks are told to take.
    cores = int(environ.get("OMP_NUM_THREADS", cpu_count() or 1))
    part = 1 << 24
    source = [np.ones(part, dtype=np.float32) for _ in range(cores)]
    target = [np.empty_like(s) for s in source]
    with ThreadPoolExecutor(cores) as pool:
        copy = rounds_ns(lambda: list(pool.map(np.copyto, target, source)))
    side = 2048
    a = np.ones((side, side), dtype=np.float32)
    product = rounds_ns(lambda: a @ a)
    return {"copy_gb_s": 8 * part * cores / copy[4], "peak_gflop_s": 2 * side**3 / product[0]}


print(json.dumps(machine()), flush=True)
for line in sys.stdin:
    kernel, n = line.split()
    n = int(n)
    row = {"kernel": kernel, "elements": n, "pytorch_ns": None, "pytorch_spread": None}
    row |= timed("numpy", numpy_kernel(kernel, n))
    if torch is not None:
        with torch.no_grad():
            row |= timed("pytorch", torch_kernel(kernel, n))
    print(json.dumps(row), flush=True)
