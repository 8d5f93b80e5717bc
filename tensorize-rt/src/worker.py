"""Runs generated modules for another process: NumPy's, and those of other frameworks, which they import.

Commands come through the socket that is standard input, arrays through the shared file whose descriptor
is the first argument.

    load TARGET:NAME ENTRY LENGTH\n<source>   -> ok -  (or emulated, where the module stands in for a device)
    call TARGET:NAME SIZE DTYPE ARG...\n      -> ok HEX   (the returned value's bytes, as an integer)

An ARG is a:DTYPE:OFFSET:LENGTH:r|w, i:DTYPE:DECIMAL or f:DTYPE:HEX. Instead of ok: error LENGTH\n<text>
"""
import mmap
import os
import socket
import sys

# Nothing from the folder that the program happens to run in.
sys.path = [p for p in sys.path if p]
channel = socket.socket(fileno=os.dup(0)).makefile("rwb")


def reply(text):
    channel.write(text)
    channel.flush()


def fail(error):
    text = f"{type(error).__name__}: {error}".encode(errors="replace")
    reply(b"error %d\n" % len(text) + text)


try:
    import numpy as np
except Exception as e:
    fail(e)
    sys.exit(1)

np.seterr(all="ignore")
arena_fd = int(sys.argv[1])
arena = None
kernels = {}


def argument(text):
    kind, dtype, rest = text.split(":", 2)
    dtype = np.dtype(dtype)
    if kind == "a":
        offset, length, mode = rest.split(":")
        array = np.frombuffer(arena, dtype, int(length), int(offset)) if int(length) else np.empty(0, dtype)
        array.flags.writeable = mode == "w"
        return array
    if kind == "i":
        return bool(int(rest)) if dtype == np.bool_ else int(rest)
    return np.frombuffer(int(rest, 16).to_bytes(dtype.itemsize, sys.byteorder), dtype)[0]


def call(name, size, dtype, *arguments):
    global arena
    if arena is None or len(arena) != int(size):
        arena = mmap.mmap(arena_fd, int(size))
    result = kernels[name](*map(argument, arguments))
    if dtype == "void":
        return b"0"
    result = np.asarray(result)
    if result.dtype != np.dtype(dtype) or result.size != 1:
        raise TypeError(f"returned {result.dtype} of shape {result.shape} instead of one {dtype}")
    return b"%x" % int.from_bytes(result.tobytes(), sys.byteorder)


reply(b"ok numpy-%s\n" % np.__version__.encode())
while line := channel.readline():
    verb, *words = line.decode().split()
    try:
        if verb == "load":
            name, entry, length = words
            source = channel.read(int(length))
            module = {"__name__": f"tensorize_{name}"}
            exec(compile(source, f"{name}.py", "exec"), module)
            kernels[name] = module[entry]
            answer = b"emulated" if module.get("EMULATED") else b"-"
        else:
            answer = call(*words)
    except Exception as e:
        fail(e)
    else:
        reply(b"ok %s\n" % answer)
