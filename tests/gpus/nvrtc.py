"""Compiles CUDA sources to PTX with NVRTC, which needs no GPU: sources on standard input, messages on standard output.

Both are separated by zero bytes. A message is empty if the source compiles.
"""
import ctypes
import glob
import os
import sys

import nvidia

patterns = [f"{folder}/**/libnvrtc.so*" for folder in nvidia.__path__]
found = [path for pattern in patterns for path in glob.glob(pattern, recursive=True) if "builtins" not in path]
nvrtc = ctypes.CDLL(sorted(found)[0])
options = [b"--fmad=false", b"--gpu-architecture=compute_80"]


def log(program):
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, text)
    return text.value.decode()


def ptx_size(program):
    size = ctypes.c_size_t()
    assert nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0
    return size.value


def compile(source):
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.cu", 0, None, None) == 0
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    message = log(program) if failed else ""
    if not failed:
        assert ptx_size(program) > 100
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return message


messages = [compile(source) for source in sys.stdin.buffer.read().split(b"\0")]
sys.stdout.write("\0".join(messages))
