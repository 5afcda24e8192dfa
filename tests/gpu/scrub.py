# SPDX-License-Identifier: MIT
"""Takes private values out of a folder of traces, so that they can be published.

    scrub.py [--secret TEXT]... FOLDER   rewrites each trace in FOLDER as NAME.gz, scrubbed
    scrub.py --check FOLDER              status 1, and the values that remain, unless all is scrubbed

What may stay is listed, all else goes: numbers, the words of the trace format, versions. Host, run,
communicators, PCI addresses and process ids become names that count from one, the same in all files of a
folder; an unknown text becomes "removed". When it was recorded goes, too: each clock of a folder begins at EPOCH_NS,
and what lies between two times stays. Of a PyTorch profile (*.json) the kinds of events and the arguments stay that
specter reads; names stay where they are those of CUDA, NCCL, PyTorch or a library of NVIDIA's, and other kernels
are told apart by number and class. This machine's host, user and folders, and each --secret, go wherever they are.
A second pass changes nothing, and that is what --check asks.
"""

import argparse
import decimal
import getpass
import glob
import gzip
import json
import os
import re
import socket
import sys

import kineto

REMOVED = "removed"
LIBRARY = r"lib(nccl|nccl-net|cublas|cublasLt|cudart|cuda|torch[a-z_]*)\.so[.0-9]*"
DTYPE = r"(u?int|fp|bf|tf)[0-9]+(e[0-9]m[0-9])?|unknown|other"

# The texts that may stay, by the last key on the way to each. Everything else is REMOVED.
WORDS = {
    "event": r"init|comm|clock|mark|sample|dump|shutdown",
    "type": r"nccl|cublas|dep|sync|copy|untraced|graph|plugin",
    "op": r"All(Reduce|Gather)|AlltoAllv?|Reduce(Scatter)?|Broadcast|Gather|Scatter|Send|Recv|Put|(Wait)?Signal"
    r"|(Lt|[SDCZH])?([Gg]emm|Matmul)(3m|Grouped|Strided|Batched|Ex|_64)*",
    "kind": r"record|wait|stream|event|device|[hd]2[hd]|p2p|memset|unknown|mark|iteration|range|uncalled|static"
    r"|namespace",
    "timing": r"device|sync|host|captured|graph|unknown|none",
    "bound": r"upper",
    "dtype": DTYPE,
    "dtype_b": DTYPE,
    "dtype_c": DTYPE,
    "compute": DTYPE,
    "redop": r"sum|prod|max|min|avg|premul",
    "trans": r"[NTC]{2}",
    "order": r"[CRO]{3}",
    "epilogue": r"none|other|d?(relu|gelu|bias|bgrad[ab]?)(_(aux|bias|bgrad))*",
    "coverage": r"nccl|cublas(lt)?|deps|copies|launches|graphs|marks|plugin",
    "of": r"cublas",
    "why": r"asked|governor",
    "algo": r"[A-Z_]{4,16}",
    "proto": r"LL|LL128|SIMPLE",
    "window": r"((delay|duration) [0-9.]+ s|iterations [0-9]+ to ([0-9]+|the end)|[, ])*",
    "stopped": r"max-size",
    "sm": r"[0-9]+\.[0-9]",
    "path": LIBRARY,
    "gpu": r"(NVIDIA|Tesla|AMD) (GeForce |RTX |Graphics |Instinct )*[A-Z]{1,3}[0-9]{1,4}[A-Z]{0,3}"
    r"( [0-9]{2,3}GB| NVL| PCIe| HBM[23]e?| Ti|-SXM[0-9]-[0-9]+GB)*",
    "mark": r"step( [0-9]+)?",
}
# Texts that are told apart, not known: the n-th becomes this.
COUNTED = {"host": "node{}", "run": "example{}", "comm": "{:016x}", "parent": "{:016x}", "pci": "0000:{:02x}:00.0"}
SAME = {"parent": "comm"}
# Keys are the tracer's own words, but for those of 'env'.
KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")
SETTING = re.compile(r"(NCCL|TORCH_NCCL|CUDA|CUBLAS|OMP|LOCAL|NVIDIA)_[A-Z0-9_]+")
VALUE = re.compile(r"[0-9]{1,5}|Socket|lo|rank[0-9]+|:[0-9]+:[0-9]+|PCI_BUS_ID|FASTEST_FIRST|LAZY|EAGER")

CLOCKS = ("real_ns", "mono_ns", "baseTimeNanoseconds", "ts")
EPOCH_NS = 10**18

# Of a PyTorch profile: sections, kinds of events, and fields that stay; texts of the latter by SAID.
SECTIONS = ("schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds", "displayTimeUnit",
            "traceEvents", "cuda_runtime_version", "cuda_driver_version", "profile_memory", "with_flops",
            "record_shapes", "with_stack")  # fmt: skip
CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "cuda_sync", "cpu_op",
              "user_annotation", "gpu_user_annotation", "ac2g", "fwdbwd")  # fmt: skip
FIELDS = {
    *("ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "bp", "args"),  # of an event
    *("correlation", "External id", "Record function id", "device", "stream", "bytes", "Input Dims", "Input type"),
    *("Collective name", "In msg nelems", "Out msg nelems", "dtype", "Group size", "Process Group Name"),
    *("Process Group Description", "Process Group Ranks", "Global rank start", "Global rank stride", "Rank"),
    *("Src Rank", "Dst Rank", "Seq", "wait_on_cuda_event_id", "wait_on_stream", "wait_on_cuda_event_record_corr_id"),
    *("In split size", "Out split size", "cuda_sync_kind"),
    *("totalGlobalMem", "computeMajor", "computeMinor", "numSms"),  # of a device, with its id and name
    *("backend", "rank", "world_size", "pg_count", "pg_config", "nccl_version"),  # of the job
    *("pg_name", "pg_desc", "backend_config", "pg_size", "ranks"),
}
COLLECTIVE = (
    r"_?(all_?(reduce|gather|to_?all)|reduce_?scatter|reduce|broadcast|gather|scatter|send|recv|barrier|wait)"
    r"(_(coalesced|base|v|into_tensor|tensor|oop|single))*"
)
NUMBERS = r"\[?[-0-9., ]*(\.\.\.)?[-0-9., ]*\]?"
SAID = {
    "ph": r"[XsfibeMN]",
    "bp": r"e",
    "cat": "|".join(CATEGORIES),
    "displayTimeUnit": r"ms|ns",
    "backend": r"nccl|gloo",
    "backend_config": r"((cuda|cpu):(nccl|gloo),?)+",
    "nccl_version": r"[0-9.]+",
    "pg_config": r"\[\]",
    "Process Group Ranks": NUMBERS,
    "In split size": NUMBERS,
    "Out split size": NUMBERS,
    "Collective name": COLLECTIVE,
    "dtype": r"B?Float(16)?|Half|Double|Byte|Char|Int|Long|Bool|Float8_e[45]m[23](fn)?",
    "Input type": r"c10::(BFloat16|Half|Float8_e[45]m[23](fn)?)|float|double|(long |unsigned )?(int|char)|bool|Scalar"
    r"|TensorList|ScalarList|GenericList|",
    "cuda_sync_kind": r"(Stream|Event|Context|Device) (Wait Event|Sync(hronize)?)",
}
# Keys by which a process group is known, and what its name may be; others are counted.
GROUP = ("pg_name", "Process Group Name", "pg_desc", "Process Group Description")
GROUPS = r"[0-9]{1,4}|group[0-9]+|default_pg|undefined|"
OPTIMIZERS = r"(Adam|AdamW|SGD|Adagrad|RMSprop|Adafactor)"
ANNOTATION = (
    rf"ProfilerStep#[0-9]+|nccl:{COLLECTIVE}( [0-9]+->[0-9]+)?|DistributedDataParallel\.forward|FSDP::[a-z_]+"
    rf"|Optimizer\.(step|zero_grad)#{OPTIMIZERS}\.(step|zero_grad)"
)
CALL = r"(cuda|cu)[A-Z][A-Za-z0-9]{2,40}(_(v[0-9]+|ptsz|ptds))*|INVALID"
MOVED = r"Mem(cpy|set) (\(Device\)|(Unknown|[HDP]to[HDP])( \([A-Za-z]+ -> [A-Za-z]+\))?)"
LINKED = r"ac2g|fwdbwd"
LIBRARY_KERNEL = re.compile(
    r"ncclDevKernel_[A-Za-z0-9_]{1,60}(\(ncclDevKernelArgsStorage<[0-9]+ul>\))?|nvjet_[a-z0-9_]+[A-Z]?"
    r"|(void )?(at|at_cuda_detail|c10|cutlass|cublas|cudnn|pytorch_flash|splitKreduce_kernel|cublasLt|flash|fmha)"
    r"(::|<|_)[\w:<>(),*&{}#+ .\[\]-]*"
    r"|(void )?(ampere|volta|turing|hopper|sm[0-9]{2,3})_[a-z0-9_]+"
)
NAMES = {
    "kernel": LIBRARY_KERNEL.pattern,
    "gpu_memcpy": MOVED,
    "gpu_memset": MOVED,
    "cuda_runtime": CALL,
    "cuda_driver": CALL,
    "cuda_sync": SAID["cuda_sync_kind"],
    "cpu_op": r"(aten|c10d|prims)::_?[a-z0-9_.]{1,60}|record_param_comms"
    r"|(autograd::engine::evaluate_function: )?[A-Z][A-Za-z0-9]{1,40}Backward[0-9]*"
    rf"|torch::autograd::AccumulateGrad|(autograd::engine::evaluate_function: )torch::autograd::\w+|{ANNOTATION}",
    "user_annotation": ANNOTATION,
    "gpu_user_annotation": ANNOTATION,
    "ac2g": LINKED,
    "fwdbwd": LINKED,
}
# Parts that no text may hold, known or not: addresses, paths, random ids.
UNWANTED = re.compile(
    r"[/\\@]|\b\d{1,3}(\.\d{1,3}){3}\b|[0-9a-f]{8}-[0-9a-f]{4}|\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b"
    r"|([0-9a-f]{1,4}:){4,}|(?<![0-9a-z])(?=[0-9a-f]*[0-9])[0-9a-f]{16,}|\b(hf|ghp|gho|sk|xox[a-z])[_-]\w{10,}"
    r"|AKIA[0-9A-Z]{12}|eyJ\w{10,}",
    re.I,
)
# Of the text that stands beside a trace.
TEXT_UNWANTED = re.compile(
    r"/(home|root|work|tmp|opt|usr|mnt|scratch|data|dev/shm)\b\S*|\S+@\S+\.\S+|\b\d{1,3}(\.\d{1,3}){3}\b"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-\S*|\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b", re.I)


class Names:
    """Consistent pseudonyms for one folder."""

    def __init__(self, secrets):
        self.known, self.begin = {}, {}
        words = "|".join(re.escape(s) for s in sorted(secrets, key=len, reverse=True))
        self.secret = re.compile(rf"(?<![A-Za-z0-9])({words})(?![A-Za-z0-9])", re.I) if words else None

    def number(self, key, value):
        seen = self.known.setdefault(SAME.get(key, key), {})
        return seen.setdefault(value, len(seen) + 1)

    def learn(self, value, key=""):
        """Where each clock begins in what is read."""
        if isinstance(value, dict):
            for k, v in value.items():
                self.learn(v, k)
        elif isinstance(value, list):
            for v in value:
                self.learn(v, key)
        elif key in CLOCKS and is_number(value):
            self.begin[key] = min(value, self.begin.get(key, value))

    def since(self, clock, value):
        """The same time on a clock that begins with the recording."""
        return value - self.begin.get(clock, value) + (0 if clock == "ts" else EPOCH_NS)

    def hides(self, text):
        return bool(UNWANTED.search(text) or (self.secret and self.secret.search(text)))


def is_number(value):
    return isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool)


def own_secrets():
    """Names of this machine and of its user; `root` and `localhost` identify none."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = ""
    host = socket.gethostname()
    found = {host, host.split(".")[0], user, os.path.expanduser("~"), os.getcwd(), os.environ.get("HOSTNAME", "")}
    return {s for s in found if len(s) > 1 and s not in ("root", "/root", "localhost")}


# ---- specter's own traces ----


def scrub_text(key, text, names):
    if key in COUNTED:
        return COUNTED[key].format(names.number(key, text))
    rule = WORDS.get(key)
    return text if rule and re.fullmatch(rule, text) and not names.hides(text) else REMOVED


def scrub_value(key, value, names):
    if isinstance(value, dict):
        if key == "env":
            return {k: v for k, v in value.items() if SETTING.fullmatch(k) and VALUE.fullmatch(str(v))}
        kept = {k: v for k, v in value.items() if KEY.fullmatch(k) and not names.hides(k)}
        return {k: scrub_value({"gpus": "gpu"}.get(key, k) if k == "name" else k, v, names) for k, v in kept.items()}
    if isinstance(value, list):
        return [scrub_value(key, v, names) for v in value]
    if isinstance(value, str):
        return scrub_text(key, value, names)
    if key in CLOCKS and is_number(value):
        return names.since(key, value)
    return names.number(key, value) if key == "pid" and value is not None else value


def scrub_record(record, names):
    if record.get("event") == "mark" and isinstance(record.get("name"), str):
        return {**scrub_value("", record, names), "name": scrub_text("mark", record["name"], names)}
    return scrub_value("", record, names)


def number(text):
    """As the tracer wrote it: 1000.500 stays 1000.500."""
    return decimal.Decimal(text)


def written(value):
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return str(value) if isinstance(value, decimal.Decimal) else json.dumps(value)


def records(text):
    for line in text.splitlines():
        try:
            record = json.loads(line, parse_float=number)
        except ValueError:
            continue  # torn by the end of the process
        if isinstance(record, dict):
            yield record


def scrub_trace(text, names):
    return "".join(written(scrub_record(record, names)) + "\n" for record in records(text))


# ---- PyTorch's profiles ----


def profiled_text(key, text, names):
    if key in GROUP:
        return text if re.fullmatch(GROUPS, text) else f"group{names.number('group', text)}"
    rule = WORDS["gpu"] if key == "name" else SAID.get(key)
    return text if rule and re.fullmatch(rule, text) and not names.hides(text) else REMOVED


def scrub_profiled(key, value, names):
    if isinstance(value, dict):
        return {k: scrub_profiled(k, v, names) for k, v in value.items() if k in FIELDS}
    if isinstance(value, list):
        return [scrub_profiled(key, v, names) for v in value]
    if isinstance(value, str):
        return profiled_text(key, value, names)
    if key in CLOCKS and is_number(value):
        return names.since(key, value)
    if key in ("pid", "tid") and isinstance(value, int) and value > 4095:  # of the system; less is a device or stream
        return 1000 + names.number(key, value)
    return value


def event_name(event, names):
    """As it is, where it names nothing of the program's own; else a kernel's class and a number."""
    name, kind = str(event.get("name", "")), event["cat"]
    if re.fullmatch(NAMES[kind], name) and not names.hides(name):
        return name
    if kind != "kernel":
        return REMOVED
    made = re.fullmatch(r"([a-z]+)_kernel_[0-9]+", name)
    return name if made and made[1] in kineto.CLASSES else f"{kineto.class_of(name)}_kernel_{names.number(kind, name)}"


def profile_of(text):
    """The sections and events that stay, as they were."""
    profile = json.loads(text, parse_float=number)
    kept = {k: profile[k] for k in SECTIONS if k in profile}
    return {**kept, "traceEvents": [e for e in profile.get("traceEvents", []) if e.get("cat") in CATEGORIES]}


def scrub_profile(text, names):
    profile = profile_of(text)
    events = [{**scrub_profiled("", e, names), "name": event_name(e, names)} for e in profile.pop("traceEvents")]
    return written({**{k: scrub_profiled(k, v, names) for k, v in profile.items()}, "traceEvents": events}) + "\n"


# ---- files ----


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as text:
        return text.read()


def write(path, text):
    """The same bytes whenever it is made: no time and no name within."""
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write(text.encode())


def traces(folder):
    return sorted(glob.glob(os.path.join(folder, "*.json*")))


def scrubbed(path, text, names):
    return (scrub_trace if ".jsonl" in os.path.basename(path) else scrub_profile)(text, names)


def public_name(path, index):
    """A file named by its rank keeps its name; host and process id stand in the others'."""
    name = os.path.basename(path).removesuffix(".gz")
    return name if re.fullmatch(r"(specter_trace_)?(rank|process)\d+(\.\d+)?\.jsonl?", name) else (
        f"specter_trace_process{index}.jsonl" if name.endswith(".jsonl") else f"process{index}.json")


def parsed(path):
    """The records of a trace, or the profile."""
    text = read(path)
    return list(records(text)) if ".jsonl" in os.path.basename(path) else profile_of(text)


def names_of(folder, secrets):
    names = Names(secrets)
    for path in traces(folder):
        names.learn(parsed(path))
    return names


def scrub(folder, secrets):
    names = names_of(folder, secrets)
    for index, path in enumerate(traces(folder)):
        text = scrubbed(path, read(path), names)
        os.remove(path)
        write(os.path.join(folder, public_name(path, index) + ".gz"), text)


def check(folder, secrets):
    names, wrong = names_of(folder, secrets), []
    for index, path in enumerate(traces(folder)):
        if public_name(path, index) != os.path.basename(path).removesuffix(".gz"):
            wrong.append(f"{path}: the name tells more than a rank")
        text = read(path)
        for n, (a, b) in enumerate(zip(text.splitlines(), scrubbed(path, text, names).splitlines()), 1):
            if a != b:
                wrong.append(f"{path}:{n}: not scrubbed: {a[:200]}")
                break
        else:
            if scrubbed(path, text, names).count("\n") != text.count("\n"):
                wrong.append(f"{path}: lines that are no record")
    for path in sorted(glob.glob(os.path.join(folder, "*.md"))):
        found = TEXT_UNWANTED.search(read(path))
        if found:
            wrong.append(f"{path}: '{found.group()}'")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--secret", action="append", default=[], metavar="TEXT")
    parser.add_argument("folder")
    options = parser.parse_args()
    secrets = own_secrets() | set(options.secret)
    if not traces(options.folder):
        sys.exit(f"{options.folder}: no trace")
    if not options.check:
        scrub(options.folder, secrets)
    elif wrong := check(options.folder, secrets):
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
