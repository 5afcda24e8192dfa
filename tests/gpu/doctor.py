# SPDX-License-Identifier: MIT
"""Holds what `specter doctor` says of this machine and of PyTorch against the machine and PyTorch themselves.

    doctor.py SPECTER

doctor runs nothing: it reads files. Here the libraries are those that a process has mapped after `import
torch`, with the versions that they say of themselves; the GPU is nvidia-smi's.
"""

import json
import re
import subprocess
import sys
import tempfile

from figures import Figures

LIBRARIES = ("cudart", "cublas", "cublasLt", "nccl")

# Prints, of each library that `import torch` maps, its path and what it says of its version (or null).
LOADED = r"""
import ctypes, json, re, torch

def number(library, function, *digits):
    value = ctypes.c_int()
    call = getattr(ctypes.CDLL(library), function, None)
    return None if call is None or call(ctypes.byref(value)) else ".".join(str(d(value.value)) for d in digits)

def returned(library, function, *digits):
    call = getattr(ctypes.CDLL(library), function, None)
    return None if call is None else ".".join(str(d(call())) for d in digits)

hundreds = (lambda v: v // 10000, lambda v: v // 100 % 100, lambda v: v % 100)
thousands = (lambda v: v // 1000, lambda v: v % 1000 // 10)
ask = {
    "cudart": lambda path: number(path, "cudaRuntimeGetVersion", *thousands),
    "cublasLt": lambda path: returned(path, "cublasLtGetVersion", *hundreds),
    "nccl": lambda path: number(path, "ncclGetVersion", *hundreds),
}
paths = {line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if line.count("/") > 0}
found = {}
for path in paths:
    name = path.rsplit("/", 1)[-1]
    for library in LIBRARIES:
        if name.startswith(f"lib{library}.so"):
            found[library] = path, ask.get(library, lambda path: None)(path)
driver = number("libcuda.so.1", "cuDriverGetVersion", *thousands)
print(json.dumps({"libraries": found, "driver": driver}))
"""


def doctor(specter):
    """(status, what it says by check)"""
    with tempfile.TemporaryDirectory() as folder:
        command = [specter, "doctor", "-o", folder, "--json", "-", "--", sys.executable, "-c", "import torch"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    said = {}
    for check in json.loads(done.stdout)["checks"]:
        said.setdefault(check["check"], []).append(check)
    return done.returncode, said


def loaded():
    program = f"LIBRARIES = {LIBRARIES!r}\n{LOADED}"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("doctor: PyTorch cannot be asked")
    return json.loads(done.stdout.splitlines()[-1])


def said_of(said, library):
    """(path, version) by doctor's line on what torch loads."""
    for check in said.get(library, []):
        match = re.fullmatch(r"(.*) \(version (.*)\), by torch", check["text"])
        if match:
            return match.groups()
    return None, None


def agree(first, second):
    """Returns whether two versions agree: 2.28.9 and 2.28 do, and any with an unknown one; two unknown ones do not."""
    if first is None or second is None:
        return first is not None or second is not None
    return all(a == b for a, b in zip(first.split("."), second.split(".")))


def compare_libraries(figures, said, found):
    table = figures.table(
        "Libraries of PyTorch", "library", "version by doctor", "version by itself", "the file that is loaded"
    )
    wrong = 0
    for library in LIBRARIES:
        path, version = said_of(said, library)
        mapped, own = found.get(library, (None, None))
        right = path is not None and path == mapped and agree(version, own)
        print(f"{library}: doctor says {path}, loaded is {mapped}")
        table.row(library, version, own, "yes" if path == mapped and path else "NO")
        wrong += not right
    figures.claim("libraries by doctor that differ from those loaded", wrong, limit=0)


def compare_gpu(figures, said, driver):
    try:
        smi = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        figures.note("nvidia-smi does not answer: of the GPU nothing is known beside doctor's word.")
        return
    names = re.findall(r"^GPU \d+: (.*?)(?: \(UUID.*)?$", smi, re.MULTILINE)
    text = said["gpu"][0]["text"]
    count, first, version = re.fullmatch(
        r"(?:(\d+) devices?)?(?:, the first is (.*?))?(?:, driver for CUDA (.*))?|.*", text
    ).groups()
    print(f"doctor says: {text}")
    table = figures.table("The GPU", "", "by doctor", "by nvidia-smi and the driver")
    rows = [("GPUs", count, str(len(names))), ("the first", first, names[0] if names else None)]
    rows.append(("driver for CUDA", version, driver))
    for row in rows:
        table.row(*row)
    figures.claim("facts about the GPU told otherwise by doctor", sum(a != b for _, a, b in rows), limit=0)


def compare_clock(figures, said):
    try:
        with open("/sys/devices/system/clocksource/clocksource0/current_clocksource", encoding="utf-8") as text:
            clock = text.read().strip()
    except OSError:
        figures.note("The kernel does not name its clock source.")
        return
    figures.claim("clock source told otherwise by doctor", int(clock not in said["clock"][0]["text"]), limit=0)


def main():
    figures = Figures()
    status, said = doctor(sys.argv[1])
    for checks in said.values():
        for check in checks:
            print(f"{check['level']:8} {check['check']:12} {check['text']}")
            if check["level"] != "ok":
                figures.note(f"{check['level']}: {check['check']}")
    facts = loaded()
    compare_libraries(figures, said, facts["libraries"])
    compare_gpu(figures, said, facts["driver"])
    compare_clock(figures, said)
    figures.claim("problems that doctor finds", sum(c["level"] == "problem" for v in said.values() for c in v), limit=0)
    figures.claim("exit status of doctor", status, limit=0)
    figures.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
