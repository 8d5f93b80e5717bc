"""Runs generated modules on inputs: a JSON list of modules on standard input, the results on standard output.

The argument is the package that they need: without it there is nothing to run.
"""
import importlib
import importlib.metadata
import json
import os
import sys

sys.path = [p for p in sys.path if p]
import numpy as np

# What a framework has to say is not an answer.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
importlib.import_module(sys.argv[1])


def version(name):
    own = getattr(sys.modules[name], "__version__", None)
    return own or importlib.metadata.version(name)


def argument(a):
    if a["kind"] == "int":
        return bool(int(a["value"])) if a["dtype"] == "bool" else int(a["value"])
    values = np.frombuffer(bytes.fromhex(a["value"]), np.dtype(a["dtype"])).copy()
    if a["kind"] == "float":
        return values[0]
    values.flags.writeable = a["writeable"]
    return values


def call(function, arguments):
    given = [argument(a) for a in arguments]
    try:
        returned = function(*given)
    except Exception as e:
        return {"error": f"it raises {type(e).__name__}: {e}"}
    arrays = [v.tobytes().hex() for v, a in zip(given, arguments) if a["kind"] == "array"]
    if returned is None:
        return {"arrays": arrays}
    returned = np.asarray(returned)
    return {"arrays": arrays, "returned": returned.tobytes().hex(), "dtype": str(returned.dtype)}


def run(module):
    names = {"__name__": "tensorize_generated"}
    try:
        exec(compile(module["source"], "generated.py", "exec"), names)
        function = names[module["entry"]]
        stands_in.append(names.get("EMULATED", False))
    except Exception as e:
        return [{"error": f"it can't be loaded: {type(e).__name__}: {e}"} for _ in module["calls"]]
    return [call(function, arguments) for arguments in module["calls"]]


np.seterr(all="ignore")
stands_in = []
package = sys.argv[1].split(".")[0]
modules = [run(module) for module in json.load(sys.stdin)]
ran_on = f"{package} {version(package)}"
if any(stands_in):
    ran_on = f"emulation, {ran_on}"
json.dump({"ran_on": ran_on, "modules": modules}, answers)
answers.flush()
