# SPDX-License-Identifier: MIT
"""NCCL as vLLM's pynccl uses it: ctypes, no PyTorch in between.

    pynccl.py LIBRARY CALLS_FILE ID_FILE

LIBRARY is a path, or a name for the loader. The ranks of a job (RANK, WORLD_SIZE) hand the unique id over in
ID_FILE. Writes CALLS_FILE.<rank>: what was called, one JSON object a line, as the trace should tell it.
"""

import ctypes
import json
import os
import sys
import time

import api

DTYPES = {"fp32": (7, 4), "fp16": (6, 2), "bf16": (9, 2), "int8": (0, 1)}
COUNT = 1 << 18


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


POINTER, SIZE, INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
PROTOTYPES = {
    "ncclGetUniqueId": [ctypes.POINTER(UniqueId)],
    "ncclCommInitRank": [ctypes.POINTER(POINTER), INT, UniqueId, INT],
    "ncclAllReduce": [POINTER, POINTER, SIZE, INT, INT, POINTER, POINTER],
    "ncclReduceScatter": [POINTER, POINTER, SIZE, INT, INT, POINTER, POINTER],
    "ncclReduce": [POINTER, POINTER, SIZE, INT, INT, INT, POINTER, POINTER],
    "ncclBroadcast": [POINTER, POINTER, SIZE, INT, INT, POINTER, POINTER],
    "ncclAllGather": [POINTER, POINTER, SIZE, INT, POINTER, POINTER],
    "ncclSend": [POINTER, SIZE, INT, INT, POINTER, POINTER],
    "ncclRecv": [POINTER, SIZE, INT, INT, POINTER, POINTER],
    "ncclGroupStart": [],
    "ncclGroupEnd": [],
    "ncclCommDestroy": [POINTER],
}


def checked(function):
    def call(*arguments):
        status = function(*arguments)
        if status != 0:
            sys.exit(f"pynccl: {function.__name__}: status {status}")

    return call


def library(name):
    loaded = ctypes.CDLL(name)
    for function, arguments in PROTOTYPES.items():
        getattr(loaded, function).argtypes = arguments
    return {function[4:]: checked(getattr(loaded, function)) for function in PROTOTYPES}


class Device:
    """Memory and a stream, by way of the runtime."""

    def __init__(self):
        self.runtime = api.library("cudart")
        self.call("cudaSetDevice", 0)

    def call(self, name, *arguments):
        checked(getattr(self.runtime, name))(*arguments)

    def stream(self):
        stream = POINTER()
        self.call("cudaStreamCreate", ctypes.byref(stream))
        return stream

    def memory(self, nbytes):
        pointer = POINTER()
        self.call("cudaMalloc", ctypes.byref(pointer), SIZE(nbytes))
        return pointer


class Communicator:
    """One rank's, and the list of what it was asked to do."""

    def __init__(self, nccl, id_file):
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.nccl, self.device, self.calls = nccl, Device(), []
        self.stream = self.device.stream()
        self.source, self.target = (self.device.memory(4 * COUNT * self.size) for _ in range(2))
        self.comm = POINTER()
        nccl["CommInitRank"](ctypes.byref(self.comm), self.size, self.unique_id(id_file), self.rank)

    def unique_id(self, path):
        unique = UniqueId()
        if self.rank == 0:
            self.nccl["GetUniqueId"](ctypes.byref(unique))
            with open(path + ".new", "wb") as out:
                out.write(bytes(unique))
            os.rename(path + ".new", path)
        while not os.path.exists(path):
            time.sleep(0.01)
        with open(path, "rb") as data:
            return UniqueId.from_buffer_copy(data.read())

    def note(self, op, dtype, nbytes, **more):
        self.calls.append({"op": op, "count": COUNT, "dtype": dtype, "bytes": nbytes, **more})

    def collectives(self, dtype):
        number, width = DTYPES[dtype]
        two, end = (self.source, self.target, COUNT, number), (self.comm, self.stream)
        self.nccl["AllReduce"](*two, 0, *end)
        self.note("AllReduce", dtype, COUNT * width)
        self.nccl["ReduceScatter"](*two, 0, *end)
        self.note("ReduceScatter", dtype, COUNT * width * self.size)
        self.nccl["AllGather"](*two, *end)
        self.note("AllGather", dtype, COUNT * width * self.size)
        self.nccl["Reduce"](*two, 0, 0, *end)
        self.note("Reduce", dtype, COUNT * width, root=0)
        self.nccl["Broadcast"](*two, 0, *end)
        self.note("Broadcast", dtype, COUNT * width, root=0)

    def exchange(self, dtype):
        """Each sends to the next rank and receives from the one before, in one group."""
        number, width = DTYPES[dtype]
        after, before = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        self.nccl["GroupStart"]()
        self.nccl["Send"](self.source, COUNT, number, after, self.comm, self.stream)
        self.nccl["Recv"](self.target, COUNT, number, before, self.comm, self.stream)
        self.nccl["GroupEnd"]()
        self.note("Send", dtype, COUNT * width, peer=after)
        self.note("Recv", dtype, COUNT * width, peer=before)

    def close(self):
        self.device.call("cudaStreamSynchronize", self.stream)
        self.nccl["CommDestroy"](self.comm)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    name, calls_file, id_file = sys.argv[1:]
    comm = Communicator(library(name), id_file)
    for dtype in DTYPES:
        comm.collectives(dtype)
        comm.exchange(dtype)
    comm.close()
    with open(f"{calls_file}.{comm.rank}", "w", encoding="utf-8") as out:
        out.writelines(json.dumps(call) + "\n" for call in comm.calls)


if __name__ == "__main__":
    main()
