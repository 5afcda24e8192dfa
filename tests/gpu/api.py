# SPDX-License-Identifier: MIT
"""Situations that a tracer must survive on a real driver, one a name: `api.py SITUATION`.

Run with the library preloaded, by way of ctypes, as programs do that fetch their calls with dlsym. Each comes to
its end as its line says, having printed `done` just before, or says what went wrong; situations.py knows
what must be in the trace then.

    no_context   calls that need no context make none
    contexts     one made beside the device's primary one, destroyed, and a product in either
    reset        cudaDeviceReset between products, three times: each is right, and nothing crashes
    exit         sys.exit with work still queued
    os_exit      os._exit: no exit handler runs
    sigterm      ended by that signal
    exception    ended by an exception that is not caught, with work still queued
    fork         a child that only sleeps and exits; the parent goes on
    spawn        multiprocessing's spawned worker that loads the libraries, and PyTorch where it is there
    threads      four threads, each with a stream of its own
    per_thread   two threads on the per-thread default stream
    nccl         a communicator of one rank through ctypes, as vLLM uses NCCL
    group_exit   exit inside ncclGroupStart
"""

import ctypes
import glob
import importlib.util
import multiprocessing
import os
import signal
import sys
import sysconfig
import threading
import time

PER_THREAD = ctypes.c_void_p(2)
WRITTEN_S = 0.5  # after so long without a call, what was recorded is in the file


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


class Product:
    """A product of ones, 64 x 64, in the current context, on a stream of its own or the one given."""

    SIZE = 64

    def __init__(self, stream=None):
        self.runtime, self.cublas = library("cudart"), library("cublas")
        n = self.SIZE
        self.handle, self.memory = ctypes.c_void_p(), [ctypes.c_void_p() for _ in range(3)]
        self.bytes = ctypes.c_size_t(4 * n * n)
        ones = (ctypes.c_float * (n * n))(*([1.0] * (n * n)))
        for pointer in self.memory:
            ok("cudaMalloc", self.runtime.cudaMalloc(ctypes.byref(pointer), self.bytes))
        for pointer in self.memory[:2]:
            ok("cudaMemcpy", self.runtime.cudaMemcpy(pointer, ones, self.bytes, 1))
        ok("cudaDeviceSynchronize", self.runtime.cudaDeviceSynchronize())
        self.stream = stream
        if stream is None:
            self.stream = ctypes.c_void_p()
            ok("cudaStreamCreate", self.runtime.cudaStreamCreate(ctypes.byref(self.stream)))
        ok("cublasCreate", self.cublas.cublasCreate_v2(ctypes.byref(self.handle)))
        ok("cublasSetStream", self.cublas.cublasSetStream_v2(self.handle, self.stream))

    def launch(self, times=1):
        n, one, zero = self.SIZE, ctypes.c_float(1), ctypes.c_float(0)
        a, b, c = self.memory
        for _ in range(times):
            ok(
                "cublasSgemm",
                self.cublas.cublasSgemm_v2(
                    self.handle, 0, 0, n, n, n, ctypes.byref(one), a, n, b, n, ctypes.byref(zero), c, n
                ),
            )

    def check(self):
        """Waits; every element is 64 then."""
        result = (ctypes.c_float * (self.SIZE * self.SIZE))()
        ok("cudaStreamSynchronize", self.runtime.cudaStreamSynchronize(self.stream))
        ok("cudaMemcpy", self.runtime.cudaMemcpy(result, self.memory[2], self.bytes, 2))
        if any(value != self.SIZE for value in result):
            sys.exit(f"api: an element of the product is {result[0]}, not {self.SIZE}")

    def run(self, times=1):
        self.launch(times)
        self.check()


def done():
    print("done", flush=True)


# ---- contexts ----


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
    done()


def contexts():
    """The second context goes while the tracer's events of it are perhaps not yet asked."""
    driver = library("cuda")
    first = Product()
    first.run()
    for wait_s in (WRITTEN_S, 0):
        own = ctypes.c_void_p()
        ok("cuCtxCreate", driver.cuCtxCreate_v2(ctypes.byref(own), 0, 0))
        Product().run()
        time.sleep(wait_s)
        ok("cuCtxDestroy", driver.cuCtxDestroy_v2(own))
        first.run()
    done()


def reset():
    for _ in range(3):
        product = Product()
        product.run()
        ok("cudaDeviceReset", product.runtime.cudaDeviceReset())
    done()


# ---- ends ----


def exit_with_work():
    Product().launch(20)
    done()
    sys.exit(0)


def os_exit():
    Product().run(20)
    time.sleep(WRITTEN_S)
    done()
    os._exit(3)


def sigterm():
    Product().run(20)
    time.sleep(WRITTEN_S)
    done()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def exception():
    Product().launch(20)
    done()
    raise RuntimeError("as intended")


# ---- processes and threads ----


def threads_now():
    return sorted(open(f"/proc/self/task/{tid}/comm").read().strip() for tid in os.listdir("/proc/self/task"))


def fork():
    product = Product()
    product.run()
    child = os.fork()
    if child == 0:
        time.sleep(0.2)
        sys.exit(7 if len(threads_now()) == 1 else 8)
    product.run()
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != 7:
        sys.exit(f"api: the child ended with {os.waitstatus_to_exitcode(status)}")
    product.run()
    done()


def worker(results):
    """Does as a data loader's worker: loads the libraries, and uses no device."""
    for stem in ("cudart", "cublas", "nccl"):
        library(stem)
    if importlib.util.find_spec("torch"):
        import torch

        torch.ones(4).sum()
    files = (os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd"))
    devices = [path for path in files if path.startswith("/dev/nvidia")]
    results.put((sorted(set(devices)), [name for name in threads_now() if name.startswith("specter")]))


def spawn():
    product = Product()
    product.run()
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    process = context.Process(target=worker, args=(results,))
    process.start()
    process.join()
    if process.exitcode != 0:
        sys.exit(f"api: the worker ended with {process.exitcode}")
    devices, own = results.get()
    print("devices that the worker has open:", *devices)  # as untraced
    if own:
        sys.exit(f"api: the worker runs {own}")
    product.run()
    done()


def in_threads(count, work):
    """A thread that goes by sys.exit leaves its text here."""
    wrong = []

    def body():
        try:
            work()
        except SystemExit as error:
            wrong.append(str(error))

    threads = [threading.Thread(target=body) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        sys.exit(wrong[0])
    done()


def own_streams():
    in_threads(4, lambda: Product().run(5))


def per_thread():
    in_threads(2, lambda: Product(PER_THREAD).run(5))


# ---- NCCL ----


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


def nccl_by_handle():
    nccl, runtime = library("nccl"), library("cudart")
    ok("cudaSetDevice", runtime.cudaSetDevice(0))
    comm = communicator(nccl)
    for count in (1, 1000, 1000000):
        all_reduce(nccl, runtime, comm, count)
    ok("cudaDeviceSynchronize", runtime.cudaDeviceSynchronize())
    ok("ncclCommDestroy", nccl.ncclCommDestroy(comm))
    done()


def group_exit():
    nccl, runtime = library("nccl"), library("cudart")
    ok("cudaSetDevice", runtime.cudaSetDevice(0))
    comm = communicator(nccl)
    ok("ncclGroupStart", nccl.ncclGroupStart())
    all_reduce(nccl, runtime, comm, 1000)
    done()
    sys.exit(0)


SITUATIONS = {
    "no_context": no_context,
    "contexts": contexts,
    "reset": reset,
    "exit": exit_with_work,
    "os_exit": os_exit,
    "sigterm": sigterm,
    "exception": exception,
    "fork": fork,
    "spawn": spawn,
    "threads": own_streams,
    "per_thread": per_thread,
    "nccl": nccl_by_handle,
    "group_exit": group_exit,
}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in SITUATIONS:
        sys.exit("usage: api.py " + "|".join(SITUATIONS))
    SITUATIONS[sys.argv[1]]()
