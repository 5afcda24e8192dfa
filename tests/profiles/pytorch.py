#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes captures of specter as PyTorch's profiler would have written the same job.

    pytorch.py TRACES PROFILES

One Kineto file a rank: operators (cpu_op) around the calls of the runtime (cuda_runtime), the device's
work (kernel, gpu_memcpy, gpu_memset) with the correlation of its call, arrows between them (ac2g),
ProfilerStep# annotations, process groups (distributedInfo) and what a process group records of its
collectives (record_param_comms). As in PyTorch's files by default, nothing tells which event a
stream waits for, nor which stream or event a synchronisation is about.

Needs captures in which all kernels have times (examples/train --no-kernels). Small copies, which
specter does not time, last as long as their bytes take over PCIe.
"""
import bisect, collections, glob, json, os, re, sys

TYPES = {"bf16": "BFloat16", "fp16": "Half", "fp32": "Float", "fp64": "Double", "int64": "Long",
         "int32": "Int", "uint8": "Byte", "int8": "Char"}
TENSORS = {"bf16": "c10::BFloat16", "fp16": "c10::Half", "fp32": "float", "fp64": "double"}
# specter's name: collective in the record, operator around it, of the kernel
COLLECTIVES = {
    "AllReduce": ("allreduce", "c10d::allreduce_", "AllReduce_Sum_{}_RING_LL"),
    "AllGather": ("_allgather_base", "c10d::_allgather_base_", "AllGather_RING_LL"),
    "ReduceScatter": ("_reduce_scatter_base", "c10d::_reduce_scatter_base_", "ReduceScatter_Sum_{}_RING_LL"),
    "Broadcast": ("broadcast", "c10d::broadcast_", "Broadcast_RING_LL"),
}
STREAM_FIRST = 7  # what PyTorch's profiles call the default stream
COPY_US = 1.3     # the shortest copy


def read(path):
    """The records of one rank; of several with one id the last counts."""
    records, by_id = [], {}
    for line in open(path):
        r = json.loads(line)
        if "id" in r and r["id"] in by_id:
            records[by_id[r["id"]]] = r
            continue
        if "id" in r:
            by_id[r["id"]] = len(records)
        records.append(r)
    return records


class Clock:
    """Device times on the host's clock, by the clock records around them."""

    def __init__(self, records, mono_ns):
        pairs = sorted((r["dev_us"], (r["mono_ns"] - mono_ns) / 1e3) for r in records if r.get("event") == "clock")
        self.dev, self.host = [p[0] for p in pairs], [p[1] for p in pairs]

    def host_us(self, dev_us):
        i = min(max(bisect.bisect(self.dev, dev_us), 1), len(self.dev) - 1)
        if len(self.dev) < 2:
            return dev_us - self.dev[0] + self.host[0]
        slope = (self.host[i] - self.host[i - 1]) / (self.dev[i] - self.dev[i - 1])
        return self.host[i - 1] + (dev_us - self.dev[i - 1]) * slope


class Profile:
    """One rank's file while it is written."""

    def __init__(self, records, groups, zero_ns):
        self.init = next(r for r in records if r.get("event") == "init")
        self.records, self.groups = sorted(records, key=lambda r: r.get("host_us", -1)), groups
        self.clock = Clock(records, self.init["mono_ns"])
        self.shift = (self.init["mono_ns"] - zero_ns) / 1e3
        self.events, self.correlation, self.external = [], 0, 0
        self.free = collections.defaultdict(lambda: -1e18)  # by stream: when it is idle
        self.seq = collections.Counter()

    def event(self, cat, name, ts, dur, tid, args, pid=None):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": self.init["pid"] if pid is None else pid,
                            "tid": tid, "ts": round(ts + self.shift, 3), "dur": round(max(dur, 0), 3), "args": args})

    def thread(self, r):
        return self.init["pid"] + r["tid"]

    def operator(self, r, name, before=1.0, behind=0.5, **args):
        self.external += 1
        self.event("cpu_op", name, r["host_us"] - before, r["host_end_us"] - r["host_us"] + before + behind,
                   self.thread(r), dict({"External id": self.external}, **args))

    def call(self, r, name):
        self.correlation += 1
        self.event("cuda_runtime", name, r["host_us"], r["host_end_us"] - r["host_us"], self.thread(r),
                   {"cbid": 1, "correlation": self.correlation})

    def work(self, r, cat, name, start, dur, **args):
        """Device work of the call before, with the arrow that leads to it."""
        stream = r["stream"] + STREAM_FIRST
        self.free[r["stream"]] = max(self.free[r["stream"]], start + dur)
        self.event(cat, name, start, dur, stream,
                   dict({"External id": self.external, "device": r["device"], "context": 1, "stream": stream,
                         "correlation": self.correlation}, **args), pid=r["device"])
        for ph, ts, pid, tid in (("s", r["host_us"], self.init["pid"], self.thread(r)),
                                 ("f", start, r["device"], stream)):
            self.events.append({"ph": ph, "id": self.correlation, "pid": pid, "tid": tid, "cat": "ac2g",
                                "name": "ac2g", "ts": round(ts + self.shift, 3), "bp": "e"})

    def span(self, r):
        """Start and duration on the device."""
        if r["timing"] != "device":
            sys.exit("an operation without a time of the device: %s" % r)
        return self.clock.host_us(r["start_us"]), r["duration_us"]

    # ---- collectives ----

    def record(self, r, collective, count_in, count_out, **more):
        group = self.groups[r["comm"]]
        self.seq[group["pg_name"]] += 1
        ranks = group["ranks"]
        return dict({"Collective name": collective, "dtype": TYPES[r["dtype"]], "In msg nelems": count_in,
                     "Out msg nelems": count_out, "Group size": len(ranks), "In split size": "[]", "Out split size": "[]",
                     "Process Group Name": group["pg_name"], "Process Group Description": group["pg_desc"],
                     "Process Group Ranks": json.dumps(ranks), "Rank": r["comm_rank"], "Global rank start": ranks[0],
                     "Global rank stride": ranks[1] - ranks[0] if len(ranks) > 1 else 1,
                     "Seq": self.seq[group["pg_name"]]}, **more)

    def kernel_name(self, pattern, r):
        return "ncclDevKernel_%s(ncclDevKernelArgsStorage<4096ul>)" % pattern.format(
            {"bf16": "bf16", "fp32": "f32", "fp16": "f16"}.get(r["dtype"], "u8"))

    def collective(self, r):
        name, operator, pattern = COLLECTIVES[r["op"]]
        n = r["comm_size"]
        count_in = r["count"] * n if r["op"] == "ReduceScatter" else r["count"]
        count_out = r["count"] * n if r["op"] == "AllGather" else r["count"]
        args = self.record(r, name, count_in, count_out)
        self.operator(r, operator, 2.5, 1.5)
        self.operator(r, "record_param_comms", 1.5, 0.7, **args)
        self.call(r, "cudaLaunchKernelExC")
        start, dur = self.span(r)
        self.work(r, "kernel", self.kernel_name(pattern, r), start, dur, **args)

    def group(self, members):
        """Messages of one group: each recorded before, the kernel at the end. An exchange with every
        member of the communicator is all_to_all_single."""
        first, last = members[0], members[-1]
        sends = [r for r in members if r["op"] == "Send"]
        start, dur = self.span(first)
        everyone = {r["peer"] for r in sends} == set(range(first["comm_size"]))
        if len(sends) * 2 == len(members) and everyone and first["comm_size"] > 1:
            whole = dict(first, host_end_us=last["host_end_us"])
            count = sum(r["count"] for r in sends)
            args = self.record(whole, "all_to_all", count, count)
            self.operator(whole, "c10d::alltoall_base_", 2.5, 1.5)
            self.operator(whole, "record_param_comms", 1.5, 0.7, **args)
            self.call(whole, "cudaLaunchKernelExC")
            self.work(whole, "kernel", self.kernel_name("SendRecv", first), start, dur, **args)
            return
        ranks = self.groups[first["comm"]]["ranks"]
        for i, r in enumerate(members):
            at = dict(r, host_us=first["host_us"] - 1.0 * (len(members) - i), host_end_us=first["host_us"] - 1.0 * (len(members) - i) + 0.2)
            ends = {"Dst Rank": ranks[r["peer"]]} if r["op"] == "Send" else {"Src Rank": ranks[r["peer"]]}
            self.operator(at, "record_param_comms", 0.1, 0.1, **self.record(r, r["op"].lower(), r["count"], r["count"], **ends))
        self.call(dict(last, host_us=first["host_us"]), "cudaLaunchKernelExC")
        self.work(last, "kernel", self.kernel_name("SendRecv", first), start, dur)

    # ---- the rest ----

    def product(self, r):
        a, b = [r["m"], r["k"]], [r["k"], r["n"]]
        kind = TENSORS[r["dtype"]]
        self.operator(r, "aten::mm", **{"Input Dims": [a, b], "Input type": [kind, kind]})
        self.call(r, "cudaLaunchKernelExC")
        start, dur = self.span(r)
        self.work(r, "kernel", "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", start, dur, grid=[132, 1, 1], block=[384, 1, 1])

    def copy(self, r):
        names = {"d2h": "Memcpy DtoH (Device -> Pageable)", "h2d": "Memcpy HtoD (Pageable -> Device)",
                 "d2d": "Memcpy DtoD (Device -> Device)"}
        fill = r["kind"] == "memset"
        if r["timing"] == "device":
            start, dur = self.span(r)
        else:
            dur = COPY_US + r["bytes"] / 25e3
            start = max(self.free[r["stream"]], r["host_us"] + 2)
            if r["kind"] == "d2h":  # its call returned when it was over
                start = max(start, r["host_end_us"] - 1.5 - dur)
        self.operator(r, "aten::zero_" if fill else "aten::_local_scalar_dense" if r["kind"] == "d2h" else "aten::copy_")
        self.call(r, "cudaMemsetAsync" if fill else "cudaMemcpyAsync")
        self.work(r, "gpu_memset" if fill else "gpu_memcpy", "Memset (Device)" if fill else names[r["kind"]], start, dur,
                  bytes=r["bytes"])

    def steps(self):
        marks = [r["time_us"] for r in self.records if r.get("event") == "mark"]
        last = max(r["host_end_us"] for r in self.records if "host_end_us" in r)
        thread = self.init["pid"] + min(r["tid"] for r in self.records if "tid" in r)
        for i, (start, end) in enumerate(zip(marks, marks[1:] + [last])):
            self.event("user_annotation", "ProfilerStep#%d" % i, start, end - start, thread, {})

    def write(self, path):
        syncs = {"stream": "cudaStreamSynchronize", "event": "cudaEventSynchronize", "device": "cudaDeviceSynchronize"}
        deps = {"record": "cudaEventRecord", "wait": "cudaStreamWaitEvent"}
        grouped = collections.defaultdict(list)
        for r in self.records:
            if r.get("type") == "nccl" and r["group"] is not None:
                grouped[r["group"], r["stream"]].append(r)
        self.steps()
        for r in self.records:
            kind = r.get("type")
            if kind == "untraced":
                sys.exit("kernels without times: %s" % path)
            if kind == "nccl" and r["group"] is not None:
                members = grouped.pop((r["group"], r["stream"]), None)
                if members:
                    self.group(members)
            elif kind == "nccl":
                self.collective(r)
            elif kind == "cublas":
                self.product(r)
            elif kind == "copy":
                self.copy(r)
            elif kind == "sync":
                self.call(r, syncs[r["kind"]])
            elif kind == "dep":
                self.call(r, deps[r["kind"]])
        gpus = [{"id": g["device"], "name": g["name"]} for g in self.init["gpus"]]
        mine = [g for g in self.groups.values() if self.init["rank"] in g["ranks"]]
        json.dump({"schemaVersion": 1, "deviceProperties": gpus,
                   "distributedInfo": {"backend": "nccl", "rank": self.init["rank"], "world_size": self.init["world_size"],
                                       "pg_count": len(mine), "pg_config": mine, "nccl_version": "2.27.3"},
                   "displayTimeUnit": "ms", "baseTimeNanoseconds": 1700000000000000000, "traceEvents": self.events},
                  open(path, "w"), indent=0)


def groups_of(ranks):
    """Process groups as the communicators have them; numbered as they were made."""
    found = {}
    for records in ranks:
        me = next(r for r in records if r.get("event") == "init")["rank"]
        for r in records:
            if r.get("event") == "comm":
                found.setdefault(r["comm"], [None] * r["comm_size"])[r["comm_rank"]] = me
    world = max(len(members) for members in found.values())
    return {comm: {"pg_name": str(i), "pg_desc": "default_pg" if len(members) == world else "mesh_%d" % i,
                   "backend_config": "cuda:nccl", "pg_size": len(members), "ranks": members}
            for i, (comm, members) in enumerate(found.items())}


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: pytorch.py TRACES PROFILES")
    paths = glob.glob(os.path.join(sys.argv[1], "*.jsonl"))
    ranks = [read(p) for p in sorted(paths, key=lambda p: int(re.search(r"rank(\d+)", p).group(1)))]
    if not ranks:
        sys.exit("no traces in %s" % sys.argv[1])
    groups = groups_of(ranks)
    zero = min(next(r for r in records if r.get("event") == "init")["mono_ns"] for records in ranks)
    os.makedirs(sys.argv[2], exist_ok=True)
    for records in ranks:
        profile = Profile(records, groups, zero)
        profile.write(os.path.join(sys.argv[2], "rank%d.json" % profile.init["rank"]))


main()
