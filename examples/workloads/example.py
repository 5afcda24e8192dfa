# SPDX-License-Identifier: MIT
"""A small transformer that trains with the parallel sizes of a workload's config, in place of its model.

    example.py --config train_config.toml --steps N --output DIR [--no-profile]

Started once a rank with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT set. Layers are divided over the
pipeline's stages, the MLP over the tensor-parallel ranks, sequences over the replicas, in the order of TorchTitan's
mesh: stages outermost, tensor-parallel ranks innermost. torch.profiler records the step that the config says into
DIR/profile_trace. On GPUs all of it runs there, over NCCL. Without one the arithmetic runs on the CPU, over gloo, and
the calls that a GPU would get go to whatever libnccl, libcublas and libcudart the loader finds (the stand-ins of
specter's tests), so that a tracer has something to see.
"""

import argparse
import contextlib
import ctypes
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

from check_card import read_toml

WIDTH, TOKENS, LAYERS_A_STAGE, MICRO_BATCHES = 64, 32, 2, 4


class NoGpu:
    """Device calls belong to no library here."""

    def __getattr__(self, name):
        return lambda *arguments: None


class Calls:
    """NCCL, cuBLAS and the CUDA runtime by ctypes."""

    BF16_NCCL, BF16_CUDA, FP32_COMPUTE = 9, 14, 68

    def __init__(self, rank, groups):
        self.runtime, self.blas, self.nccl = (self.library(stem) for stem in ("cudart", "cublas", "nccl"))
        self.memory, self.stream, self.handle = (ctypes.c_void_p() for _ in range(3))
        # Two ranks of a node may not share a device.
        self.do(self.runtime.cudaSetDevice, int(os.environ.get("LOCAL_RANK", rank)))
        self.do(self.runtime.cudaMalloc, ctypes.byref(self.memory), ctypes.c_size_t(1 << 24))
        self.do(self.runtime.cudaStreamCreate, ctypes.byref(self.stream))
        self.do(self.blas.cublasCreate_v2, ctypes.byref(self.handle))
        self.do(self.blas.cublasSetStream_v2, self.handle, self.stream)
        self.comms = {axis: self.communicator(*group) for axis, group in groups.items()}

    @staticmethod
    def library(stem):
        for number in (13, 12, 2):
            with contextlib.suppress(OSError):
                return ctypes.CDLL(f"lib{stem}.so.{number}")
        raise OSError(f"no lib{stem}")

    @staticmethod
    def do(function, *arguments):
        status = function(*arguments)
        if status != 0:
            raise RuntimeError(f"{function.__name__}: status {status}")

    def communicator(self, group, ranks, rank):
        class UniqueId(ctypes.Structure):
            _fields_ = [("internal", ctypes.c_byte * 128)]

        made, comm = UniqueId(), ctypes.c_void_p()
        if rank == ranks[0]:
            self.do(self.nccl.ncclGetUniqueId, ctypes.byref(made))
        shared = [bytes(made)]
        dist.broadcast_object_list(shared, src=ranks[0], group=group)
        self.nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int]
        self.do(self.nccl.ncclCommInitRank, ctypes.byref(comm), len(ranks), UniqueId.from_buffer_copy(shared[0]),
                ranks.index(rank))
        return comm

    def all_reduce(self, axis, count):
        self.do(self.nccl.ncclAllReduce, self.memory, self.memory, ctypes.c_size_t(count), self.BF16_NCCL, 0,
                self.comms[axis], self.stream)

    def message(self, kind, peer, count):
        function = self.nccl.ncclSend if kind == "send" else self.nccl.ncclRecv
        self.do(function, self.memory, ctypes.c_size_t(count), self.BF16_NCCL, peer, self.comms["pp"], self.stream)

    def gemm(self, m, n, k):
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        self.do(self.blas.cublasGemmEx, self.handle, 0, 0, m, n, k, ctypes.byref(one), self.memory, self.BF16_CUDA, m,
                self.memory, self.BF16_CUDA, k, ctypes.byref(zero), self.memory, self.BF16_CUDA, m, self.FP32_COMPUTE,
                -1)

    def step_ends(self):
        self.do(self.runtime.cudaStreamSynchronize, self.stream)


class Job:
    """This rank's place in the mesh, its layers and its calls."""

    def __init__(self, config):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        size = lambda key: config.get(f"parallelism.{key}_degree", 1)
        self.tp, self.pp = size("tensor_parallel"), size("pipeline_parallel")
        self.dp = size("data_parallel_replicate") * size("data_parallel_shard")
        if self.tp * self.pp * self.dp != self.world:
            sys.exit(f"example.py: {self.world} ranks, but the config has dp {self.dp} x tp {self.tp} x pp {self.pp}")
        self.stage = self.rank // (self.dp * self.tp)
        self.on_gpu = torch.cuda.is_available()
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if self.on_gpu else torch.device("cpu")
        self.groups = self.make_groups()
        self.layers = nn.ModuleList(
            nn.ModuleDict({"up": nn.Linear(WIDTH, 4 * WIDTH // self.tp), "down": nn.Linear(4 * WIDTH // self.tp, WIDTH)})
            for _ in range(LAYERS_A_STAGE)).to(self.device)
        self.optimizer = torch.optim.SGD(self.layers.parameters(), lr=1e-3)
        self.calls = NoGpu()
        if not self.on_gpu:
            try:
                self.calls = Calls(self.rank, {axis: (*group, self.rank) for axis, group in self.groups.items()})
            except OSError as why:
                print(f"example.py: no GPU and {why}: a tracer sees nothing", file=sys.stderr)

    def make_groups(self):
        """Axis -> (group, its ranks), of the axes with more than one rank."""
        groups = {}
        numbers = torch.arange(self.world).view(self.pp, self.dp, self.tp)
        for axis, dim in (("pp", 0), ("dp", 1), ("tp", 2)):
            rows = numbers.movedim(dim, -1).reshape(-1, numbers.shape[dim]).tolist()
            for ranks in rows if numbers.shape[dim] > 1 else []:
                group = dist.new_group(ranks)  # every rank takes part in every group's birth
                if self.rank in ranks:
                    groups[axis] = (group, ranks)
        return groups

    def all_reduce(self, axis, tensor):
        if axis in self.groups:
            dist.all_reduce(tensor, group=self.groups[axis][0])
            self.calls.all_reduce(axis, tensor.numel())

    def message(self, kind, step, tensor):
        """To or from the stage `step` further on."""
        _, ranks = self.groups["pp"]
        peer = self.stage + step
        (dist.send if kind == "send" else dist.recv)(tensor, ranks[peer])
        self.calls.message(kind, peer, tensor.numel())

    def forward(self, x):
        for layer in self.layers:
            hidden = torch.relu(layer["up"](x))
            self.calls.gemm(4 * WIDTH // self.tp, TOKENS, WIDTH)
            part = layer["down"](hidden)
            self.calls.gemm(WIDTH, TOKENS, 4 * WIDTH // self.tp)
            whole = part.detach().clone()
            self.all_reduce("tp", whole)
            x = x + part + (whole - part.detach())  # the gradient is the own part's
        return x

    def micro_batch(self):
        first, last = self.stage == 0, self.stage == self.pp - 1
        x = torch.randn(TOKENS, WIDTH, device=self.device)
        if not first:
            self.message("recv", -1, x)
        x.requires_grad_()
        y = self.forward(x)
        if not last:
            self.message("send", 1, y.detach())
        return x, y

    def backward(self, x, y):
        first, last = self.stage == 0, self.stage == self.pp - 1
        gradient = torch.ones_like(y)
        if not last:
            self.message("recv", 1, gradient)
        y.backward(gradient)
        for _ in range(2 * LAYERS_A_STAGE):
            self.calls.gemm(WIDTH, 4 * WIDTH // self.tp, TOKENS)
            self.calls.gemm(WIDTH, TOKENS, 4 * WIDTH // self.tp)
        if not first:
            self.message("send", -1, x.grad)

    def step(self):
        self.optimizer.zero_grad()
        batches = [self.micro_batch() for _ in range(MICRO_BATCHES if self.pp > 1 else 1)]
        for x, y in batches:
            self.backward(x, y)
        for parameter in self.layers.parameters():
            self.all_reduce("dp", parameter.grad)
        self.optimizer.step()
        self.calls.step_ends()
        if self.on_gpu:
            torch.cuda.synchronize()


def profiler(config, options, rank):
    """torch.profiler as the config asks: the last of every profile_freq steps, after three for it to warm up."""
    if options.no_profile or not config.get("profiling.enable_profiling"):
        return contextlib.nullcontext()
    every = min(config.get("profiling.profile_freq", 20), options.steps)
    warmup = min(3, every - 1)
    folder = os.path.join(options.output, config.get("profiling.save_traces_folder", "profile_trace"))
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)

    def write(profile):
        step = os.path.join(folder, f"iteration_{profile.step_num}")
        os.makedirs(step, exist_ok=True)
        profile.export_chrome_trace(os.path.join(step, f"rank{rank}_trace.json"))

    return torch.profiler.profile(
        activities=activities, record_shapes=True, on_trace_ready=write,
        schedule=torch.profiler.schedule(wait=every - warmup - 1, warmup=warmup, active=1, repeat=0))


def mark_step():
    process = ctypes.CDLL(None)
    if hasattr(process, "specter_iteration"):
        process.specter_iteration(b"step")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--no-profile", action="store_true")
    options = parser.parse_args()
    config, _ = read_toml(options.config)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    job = Job(config)
    began = time.monotonic()
    with profiler(config, options, job.rank) as profile:
        for _ in range(options.steps):
            mark_step()
            job.step()
            if profile is not None:
                profile.step()
    if job.rank == 0:
        print(f"example.py: {job.world} ranks, dp {job.dp}, tp {job.tp}, pp {job.pp}: {options.steps} steps in "
              f"{time.monotonic() - began:.2f} s on {'GPUs' if job.on_gpu else 'the CPU'}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
