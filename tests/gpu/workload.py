# SPDX-License-Identifier: MIT
"""Small training programs whose steps the GPU checks record.

    workload.py transformer   GPT-style blocks in bf16, DistributedDataParallel over NCCL
    workload.py launch_bound  many tiny layers: the host cannot keep the device busy
    workload.py graph         the small step as a CUDA graph, replayed
    workload.py compile       the transformer step under torch.compile

Every rank prints one line of JSON: {"rank", "step_us": [...], "loss": [...], "checksum"}. Losses and the
checksum of the weights must not depend on whether anybody looks. --profile FILE records the measured
steps with torch.profiler as well; --marks calls specter_iteration() at each step; --deterministic asks
PyTorch for the same bits in every run.

With SPECTER_REHEARSAL set, which rehearse.sh does, the model is small unless the options say otherwise,
and attention is not cuDNN's, which the stand-ins cannot run.
"""

import argparse
import ctypes
import json
import os
import time

import torch
import torch.distributed as dist
from torch import nn

REHEARSAL = bool(os.environ.get("SPECTER_REHEARSAL"))
SIZES = {"layers": 2, "width": 512, "tokens": 256} if REHEARSAL else {"layers": 8, "width": 2048, "tokens": 1024}


class Block(nn.Module):
    """Attention and a two-layer MLP, with the residual connections of a decoder."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_a, self.norm_b = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        batch, tokens, width = x.shape
        parts = self.qkv(x).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))

    def forward(self, x):
        x = x + self.attention(self.norm_a(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm_b(x))))


class Decoder(nn.Module):
    def __init__(self, layers, width, heads, words):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        return self.head(self.blocks(self.embed(tokens)))


class Job:
    """One rank's model, data and step."""

    def __init__(self, options):
        self.options = options
        self.rank = int(os.environ.get("RANK", "0"))
        torch.manual_seed(1)
        torch.backends.cuda.matmul.allow_tf32 = False
        if options.deterministic:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        if REHEARSAL:
            torch.backends.cuda.enable_cudnn_sdp(False)
        self.device = torch.device("cuda", 0)
        torch.cuda.set_device(self.device)
        self.losses = []

    def join(self):
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29533")
        dist.init_process_group(
            "nccl", rank=self.rank, world_size=int(os.environ.get("WORLD_SIZE", "1"))
        )

    def build(self, model, batch, optimizer):
        self.model, self.batch, self.optimizer = model, batch, optimizer

    def step(self):
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.model_loss()
        loss.backward()
        self.optimizer.step()
        return loss

    def checksum(self):
        total = sum(p.detach().double().sum() for p in self.model.parameters())
        return float(total)


class TransformerJob(Job):
    def __init__(self, options):
        super().__init__(options)
        self.join()
        words = 8192
        model = Decoder(options.layers, options.width, options.width // 64, words)
        model = model.to(self.device, dtype=torch.bfloat16)
        if options.name == "compile":
            model = torch.compile(model)
        model = nn.parallel.DistributedDataParallel(model, device_ids=[0])
        tokens = torch.randint(words, (options.batch, options.tokens + 1), device=self.device)
        self.build(model, tokens, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True))

    def model_loss(self):
        logits = self.model(self.batch[:, :-1]).flatten(0, 1).float()
        return nn.functional.cross_entropy(logits, self.batch[:, 1:].flatten())


class SmallJob(Job):
    """A deep stack of tiny layers."""

    def __init__(self, options):
        super().__init__(options)
        layers = [nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(128)]
        model = nn.Sequential(*layers).to(self.device)
        batch = torch.randn(32, 64, device=self.device)
        self.build(model, batch, torch.optim.SGD(model.parameters(), lr=1e-3))

    def model_loss(self):
        return self.model(self.batch).square().mean()


class GraphJob(SmallJob):
    """The same step, captured once and replayed."""

    def __init__(self, options):
        super().__init__(options)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                super().step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = super().step()

    def step(self):
        self.graph.replay()
        return self.loss


JOBS = {
    "transformer": TransformerJob,
    "launch_bound": SmallJob,
    "graph": GraphJob,
    "compile": TransformerJob,
}


def iteration_marker(wanted):
    """specter_iteration of a library that is preloaded, else nothing."""
    program = ctypes.CDLL(None)
    found = wanted and getattr(program, "specter_iteration", None)
    return (lambda: found(None)) if found else (lambda: None)


def timed_steps(job, count, mark):
    """Times of `count` steps, by events on the current stream: the host is not made to wait."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    events[0].record()
    for i in range(count):
        mark()
        job.losses.append(job.step().detach().clone())
        events[i + 1].record()
    torch.cuda.synchronize()
    return [1000 * a.elapsed_time(b) for a, b in zip(events, events[1:])]


def measure(job, options):
    mark = iteration_marker(options.marks)
    timed_steps(job, options.warmup, lambda: None)
    if not options.profile:
        return timed_steps(job, options.steps, mark)
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        times = timed_steps(job, options.steps, mark)
    profile.export_chrome_trace(options.profile)
    return times


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=JOBS)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    for name, size in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--profile", metavar="FILE")
    parser.add_argument("--marks", action="store_true")
    parser.add_argument("--deterministic", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    job = JOBS[options.name](options)
    begun = time.monotonic()
    times = measure(job, options)
    print(
        json.dumps(
            {
                "rank": job.rank,
                "wall_s": time.monotonic() - begun,
                "step_us": times,
                "loss": [float(loss) for loss in job.losses],
                "checksum": job.checksum(),
            }
        ),
        flush=True,
    )
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
