# SPDX-License-Identifier: MIT
"""Keeps the results of a run of the GPU suite.

    keep.py publish FOLDER DIR            report.md as DIR/<date>-<gpu>.md, of the day it was measured; and the table
                                          of products beside it, where there is one
    keep.py pack FOLDER FILE.tar.gz [MIB] all of FOLDER that fits: report, figures and logs, then other files from the
                                          smallest up (15 MiB unless told); what is left out is named, here
                                          and in LEFT_OUT of the archive. Unpacked it is a FOLDER again.
"""

import gzip
import io
import json
import os
import re
import sys
import tarfile

FIRST = (r"report\.md|machine\.json", r"checks/.*\.(verdict|figures)", r"checks/.*\.log", r".*")
LEFT_OUT = "LEFT_OUT"
OVERHEAD = 2048  # of a file in the archive, at most: its header and padding, before compression


def slug(gpu):
    """`nvidia-h200` of `NVIDIA H200`."""
    return re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")


def publish(folder, target):
    try:
        with open(os.path.join(folder, "machine.json"), encoding="utf-8") as text:
            machine = json.load(text)
        with open(os.path.join(folder, "report.md"), encoding="utf-8") as text:
            report = text.read()
    except FileNotFoundError as error:
        sys.exit(f"publish: no {error.filename}: run the suite first")
    if machine["standin"]:
        sys.exit("publish: measured on stand-ins, which is no measurement")
    if not slug(machine["gpu"]):
        sys.exit("publish: no GPU is named in machine.json")
    name = os.path.join(target, f"{machine['date']}-{slug(machine['gpu'])}")
    put(name + ".md", report)
    products = os.path.join(folder, "gemm.csv")
    if os.path.exists(products):
        with open(products, encoding="utf-8") as text:
            put(name + "-gemm.csv", text.read())


def put(path, text):
    told = "replaced" if os.path.exists(path) else "written"
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    print(f"{path} {told}")


def files_of(folder, archive):
    """(tier, size when compressed, path in the folder), what matters most first."""
    found = []
    for at, folders, names in os.walk(folder):
        folders.sort()
        for name in names:
            path = os.path.join(at, name)
            if os.path.islink(path) or not os.path.isfile(path) or name == LEFT_OUT or os.path.samefile(path, archive):
                continue
            inside = os.path.relpath(path, folder)
            tier = next(i for i, pattern in enumerate(FIRST) if re.fullmatch(pattern, inside))
            found.append((tier, packed_size(path), inside))
    return sorted(found)


def packed_size(path):
    counted = Counter()
    with open(path, "rb") as source, gzip.GzipFile(fileobj=counted, mode="wb", compresslevel=6) as out:
        while block := source.read(1 << 20):
            out.write(block)
    return counted.size


class Counter(io.RawIOBase):
    """Counts what is written to it."""

    def __init__(self):
        super().__init__()
        self.size = 0

    def write(self, data):
        self.size += len(data)
        return len(data)


def add_text(archive, name, text):
    data = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def pack(folder, path, mib="15"):
    room, left = float(mib) * 2**20, []
    with tarfile.open(path, "w:gz", compresslevel=6) as archive:
        found = files_of(folder, path)
        room -= OVERHEAD + sum(len(inside) + 32 for _, _, inside in found)
        for _, size, inside in found:
            if size + OVERHEAD > room:
                left.append(f"{inside} ({os.path.getsize(os.path.join(folder, inside))} bytes)")
                continue
            room -= size + OVERHEAD
            archive.add(os.path.join(folder, inside), arcname=inside)
        add_text(archive, LEFT_OUT, "".join(line + "\n" for line in left))
    print(f"{path}: {len(found) - len(left)} files, {os.path.getsize(path)} bytes")
    for line in left:
        print(f"left out: {line}")


VERBS = {"publish": publish, "pack": pack}

if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in VERBS:
        sys.exit(__doc__)
    VERBS[sys.argv[1]](*sys.argv[2:])
