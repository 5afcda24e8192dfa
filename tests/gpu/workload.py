# SPDX-License-Identifier: MIT
"""Small training programs whose steps the GPU checks record.

    workload.py transformer   GPT-style blocks in bf16, DistributedDataParallel over NCCL
    workload.py compile       the same under torch.compile
    workload.py fsdp          the same model, its weights sharded over the ranks (fully_shard)
    workload.py pipeline      the same model, its blocks in stages: two or more ranks, micro-batches between them
    workload.py launch_bound  many tiny layers: the host cannot keep the device busy
    workload.py graph         that step as a CUDA graph, replayed

RANK and WORLD_SIZE say which rank of how many this is, LOCAL_RANK which GPU it takes (0). Every rank prints one
line of JSON: {"rank", "step_us": [...], "loss": [...], "checksum"}. Losses and the checksum of the weights must not
depend on whether anybody looks: seeds are fixed, and --deterministic asks PyTorch for the same bits in every run. --profile FILE
records the measured steps with torch.profiler as well; --marks calls specter_iteration() at each step.

Jobs that are not well: --slow-rank R --slow-us N lets one rank come late to each step; --skip-rank R
--skip-step N lets it leave out the all-reduce of the loss (--reduce-loss) in one step, so that the job hangs.

With SPECTER_REHEARSAL set, which rehearse.sh does, the model is small unless the options say otherwise,
and attention is not cuDNN's, which the stand-ins cannot run.
"""

import argparse
import contextlib
import ctypes
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

WARMUP = 12  # DistributedDataParallel times its first ten steps by events and waits for them
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
        self.rank, self.ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        torch.manual_seed(1)
        torch.backends.cuda.matmul.allow_tf32 = False
        if options.deterministic:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        if REHEARSAL:
            torch.backends.cuda.enable_cudnn_sdp(False)
        self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        torch.cuda.set_device(self.device)
        self.losses, self.steps = [], 0

    def join(self):
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29533")
        dist.init_process_group("nccl", rank=self.rank, world_size=self.ranks)

    def build(self, model, batch, optimizer):
        self.model, self.batch, self.optimizer = model, batch, optimizer

    def step(self):
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.gradients()
        self.optimizer.step()
        return loss

    def gradients(self):
        loss = self.model_loss()
        loss.backward()
        return loss

    def checksum(self):
        """Of the bits of all weights and their places, the same whatever the order of the additions."""
        total = 0
        for p in self.model.parameters():
            local = p.to_local() if hasattr(p, "to_local") else p
            bits = local.detach().reshape(-1).view(torch.int16 if p.element_size() == 2 else torch.int32).long()
            places = torch.arange(1, bits.numel() + 1, device=bits.device)
            total = (total * 31 + int((bits * places).sum())) % 2**64
        return f"{total:016x}"


class TransformerJob(Job):
    WORDS = 8192

    def __init__(self, options):
        super().__init__(options)
        self.join()
        # A device makes the weights seconds sooner than the host; kernels of stand-ins compute nothing.
        with torch.device("cpu") if REHEARSAL else self.device:
            model = Decoder(options.layers, options.width, options.width // 64, self.WORDS)
        model = self.spread(model.to(self.device, dtype=torch.bfloat16))
        tokens = self.tokens(seed=1000 + self.rank)
        self.build(model, tokens, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True))

    def tokens(self, seed):
        """A batch, which each rank of data parallelism has of its own."""
        options, source = self.options, torch.Generator().manual_seed(seed)
        return torch.randint(self.WORDS, (options.batch, options.tokens + 1), generator=source).to(self.device)

    def spread(self, model):
        if self.options.name == "compile":
            model = torch.compile(model)
        return nn.parallel.DistributedDataParallel(model, device_ids=[self.device.index])

    def loss_of(self, logits, tokens):
        return nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())

    def gradients(self):
        """Of one batch, or of several that are added up before the ranks exchange them."""
        for i in range(self.options.accumulate):
            last = i + 1 == self.options.accumulate
            with contextlib.nullcontext() if last else self.unsynchronized():
                loss = self.loss_of(self.model(self.batch[:, :-1]), self.batch)
                loss.backward()
        return self.reduced(loss.detach())

    def unsynchronized(self):
        return self.model.no_sync()

    def reduced(self, loss):
        """The mean of the ranks' losses, where that is wanted."""
        options = self.options
        skipped = self.rank == options.skip_rank and self.steps == options.skip_step
        if options.reduce_loss and not skipped:
            dist.all_reduce(loss, op=dist.ReduceOp.AVG)
        return loss


class FsdpJob(TransformerJob):
    """Weights, gradients and the optimizer's state in shards, gathered where they are needed."""

    def spread(self, model):
        from torch.distributed.fsdp import fully_shard  # takes a while, which the others need not wait

        for block in model.blocks:
            fully_shard(block)
        return fully_shard(model)

    @contextlib.contextmanager
    def unsynchronized(self):
        self.model.set_requires_gradient_sync(False)
        yield
        self.model.set_requires_gradient_sync(True)


class PipelineJob(TransformerJob):
    """Blocks in stages, one a rank: all micro-batches forward, then all backward."""

    def spread(self, model):
        if self.ranks < 2:
            sys.exit("workload: a pipeline takes two ranks or more")
        blocks = list(model.blocks.children())
        mine = blocks[self.rank * len(blocks) // self.ranks : (self.rank + 1) * len(blocks) // self.ranks]
        self.first, self.last = self.rank == 0, self.rank == self.ranks - 1
        return nn.Sequential(*[model.embed] * self.first, *mine, *[model.head] * self.last)

    def tokens(self, seed):
        return super().tokens(seed=1000)  # all stages work on the same batch

    def forward_one(self, micro):
        """Returns the input and the output of this stage: activations, or a loss at the end."""
        taken = micro[:, :-1]
        if not self.first:
            shape = (*taken.shape, self.options.width)
            taken = torch.empty(shape, dtype=torch.bfloat16, device=self.device)
            dist.recv(taken, self.rank - 1)
            taken.requires_grad_()
        given = self.model(taken)
        if not self.last:
            dist.send(given.detach(), self.rank + 1)
            return taken, given
        return taken, self.loss_of(given, micro) / self.options.micro

    def backward_one(self, taken, given):
        if self.last:
            given.backward()
        else:
            gradient = torch.empty_like(given)
            dist.recv(gradient, self.rank + 1)
            given.backward(gradient)
        if not self.first:
            dist.send(taken.grad, self.rank - 1)

    def gradients(self):
        done = [self.forward_one(micro) for micro in self.batch.chunk(self.options.micro)]
        for taken, given in done:
            self.backward_one(taken, given)
        return sum(given.detach() for _, given in done) if self.last else torch.zeros((), device=self.device)


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
    "compile": TransformerJob,
    "fsdp": FsdpJob,
    "pipeline": PipelineJob,
    "launch_bound": SmallJob,
    "graph": GraphJob,
}


def iteration_marker(wanted):
    """specter_iteration of a library that is preloaded, else nothing."""
    program = ctypes.CDLL(None)
    found = wanted and getattr(program, "specter_iteration", None)
    return (lambda: found(None)) if found else (lambda: None)


def come_late(job):
    """The slow rank's host sleeps when its device has nothing left to do."""
    if job.rank == job.options.slow_rank:
        torch.cuda.synchronize()
        time.sleep(job.options.slow_us / 1e6)


def timed_steps(job, count, mark):
    """Times of `count` steps, by events on the current stream: the host is not made to wait."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    events[0].record()
    for i in range(count):
        mark()
        come_late(job)
        job.losses.append(job.step().detach().clone())
        job.steps += 1
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
    profile.export_chrome_trace(options.profile + (f".{job.rank}" if job.rank else ""))
    return times


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=JOBS)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=WARMUP)
    for name, size in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=1, help="batches a step")
    parser.add_argument("--micro", type=int, default=4, help="micro-batches of a pipeline")
    parser.add_argument("--reduce-loss", action="store_true")
    parser.add_argument("--slow-rank", type=int)
    parser.add_argument("--slow-us", type=int, default=2000)
    parser.add_argument("--skip-rank", type=int)
    parser.add_argument("--skip-step", type=int, help="counted from 0, warm-up and all")
    parser.add_argument("--profile", metavar="FILE")
    parser.add_argument("--marks", action="store_true")
    parser.add_argument("--deterministic", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    job = JOBS[options.name](options)
    begun = time.monotonic()
    times = measure(job, options)
    told = {"rank": job.rank, "wall_s": time.monotonic() - begun, "step_us": times}
    told |= {"loss": [float(loss) for loss in job.losses], "checksum": job.checksum()}
    os.write(1, (json.dumps(told) + "\n").encode())  # in one piece: the ranks share a file
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
