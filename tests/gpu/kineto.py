# SPDX-License-Identifier: MIT
"""PyTorch's profiles (Kineto): what ran on the device, and what class of work a kernel is.

    for kind, name, start_us, duration_us in kineto.work(path): ...    kind: kernel, gpu_memcpy or gpu_memset

Classes are the tracer's, told by its own table of words (src/base/kernel_class.c), and `nccl`.
"""

import gzip
import json
import os
import re
import sys

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "base", "kernel_class.c")


def class_words():
    """[(word, class)] in the order in which they are looked for."""
    with open(TABLE, encoding="utf-8") as text:
        rows = re.findall(r'\{"(\w+)", SPECTER_KERNEL_(\w+)\}', text.read())
    if not rows:
        sys.exit(f"kineto: no classes in {TABLE}")
    return [(word, name.lower()) for word, name in rows]


WORDS = class_words()
CLASSES = {"nccl", "other", *(kind for _, kind in WORDS)}


def class_of(name):
    """`nccl` is a library's own, as `gemm` may be."""
    if name.startswith("nccl"):
        return "nccl"
    return next((kind for word, kind in WORDS if word in name.lower()), "other")


def work(path):
    """(kind, name, start, duration) of all that ran on the device; us."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as text:
        events = json.load(text)["traceEvents"]
    for e in events:
        if e.get("ph") == "X" and e.get("cat") in WORK:
            yield e["cat"], e["name"], float(e["ts"]), float(e["dur"])
