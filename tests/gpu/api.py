# SPDX-License-Identifier: MIT
"""Situations that a tracer must survive on a real driver, one a name: `api.py SITUATION`.

Run with the library preloaded, by way of ctypes, as programs do that fetch their calls with dlsym. Each
prints only what went wrong, and its status says whether anything did.

    no_context   calls that need no context make none
    reset        cudaDeviceReset between two products: the second is right, and nothing crashes
    exit         sys.exit with work still queued
    group_exit   exit inside ncclGroupStart
"""

import ctypes
import glob
import os
import sys
import sysconfig


def library(stem):
    """The first library of this stem: as the loader finds it, else from Python's own packages."""
    for name in (*(f"lib{stem}.so.{n}" for n in (13, 12, 11, 2, 1)), f"lib{stem}.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    found = glob.glob(os.path.join(sysconfig.get_paths()["purelib"], "nvidia", "*", "lib", f"lib{stem}.so*"))
    if not found:
        sys.exit(f"api: no lib{stem}")
    return ctypes.CDLL(sorted(found)[0])


def ok(what, status):
    if status != 0:
        sys.exit(f"api: {what}: status {status}")


class Device:
    """One product of 64 x 64 ones, by way of the runtime and cuBLAS."""

    SIZE = 64

    def __init__(self):
        self.runtime, self.cublas = library("cudart"), library("cublas")

    def product(self):
        """The first element of the result: 64."""
        n, nbytes = self.SIZE, 4 * self.SIZE * self.SIZE
        ones = (ctypes.c_float * (n * n))(*([1.0] * (n * n)))
        result = (ctypes.c_float * (n * n))()
        handle, memory = ctypes.c_void_p(), [ctypes.c_void_p() for _ in range(3)]
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        ok("cublasCreate", self.cublas.cublasCreate_v2(ctypes.byref(handle)))
        for pointer in memory:
            ok("cudaMalloc", self.runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(nbytes)))
        for pointer in memory[:2]:
            ok("cudaMemcpy", self.runtime.cudaMemcpy(pointer, ones, ctypes.c_size_t(nbytes), 1))
        ok(
            "cublasSgemm",
            self.cublas.cublasSgemm_v2(
                handle, 0, 0, n, n, n, ctypes.byref(one), memory[0], n, memory[1], n,
                ctypes.byref(zero), memory[2], n,
            ),
        )  # fmt: skip
        ok("cudaMemcpy", self.runtime.cudaMemcpy(result, memory[2], ctypes.c_size_t(nbytes), 2))
        return result[0]


def no_context():
    driver, nccl = library("cuda"), library("nccl")
    number, flags, active = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
    unique = (ctypes.c_char * 128)()
    ok("cuInit", driver.cuInit(0))
    ok("ncclGetVersion", nccl.ncclGetVersion(ctypes.byref(number)))
    ok("ncclGroupStart", nccl.ncclGroupStart())
    ok("ncclGroupEnd", nccl.ncclGroupEnd())
    ok("ncclGetUniqueId", nccl.ncclGetUniqueId(unique))
    ok("state", driver.cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active)))
    if active.value:
        sys.exit("api: a context was made")


def reset():
    device = Device()
    for _ in range(3):
        value = device.product()
        if value != Device.SIZE:
            sys.exit(f"api: the product is {value}, not {Device.SIZE}")
        ok("cudaDeviceReset", device.runtime.cudaDeviceReset())


def exit_with_work():
    device = Device()
    for _ in range(20):
        device.product()
    sys.exit(0)


def communicator(nccl):
    class UniqueId(ctypes.Structure):
        _fields_ = [("internal", ctypes.c_char * 128)]

    unique, comm = UniqueId(), ctypes.c_void_p()
    ok("ncclGetUniqueId", nccl.ncclGetUniqueId(ctypes.byref(unique)))
    nccl.ncclCommInitRank.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, UniqueId, ctypes.c_int]
    ok("ncclCommInitRank", nccl.ncclCommInitRank(ctypes.byref(comm), 1, unique, 0))
    return comm


def all_reduce(nccl, runtime, comm, count):
    memory = ctypes.c_void_p()
    ok("cudaMalloc", runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4 * count)))
    ok(
        "ncclAllReduce",
        nccl.ncclAllReduce(memory, memory, ctypes.c_size_t(count), 7, 0, comm, ctypes.c_void_p()),
    )


def group_exit():
    nccl, runtime = library("nccl"), library("cudart")
    ok("cudaSetDevice", runtime.cudaSetDevice(0))
    comm = communicator(nccl)
    ok("ncclGroupStart", nccl.ncclGroupStart())
    all_reduce(nccl, runtime, comm, 1000)
    sys.exit(0)


SITUATIONS = {
    "no_context": no_context,
    "reset": reset,
    "exit": exit_with_work,
    "group_exit": group_exit,
}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in SITUATIONS:
        sys.exit("usage: api.py " + "|".join(SITUATIONS))
    SITUATIONS[sys.argv[1]]()
