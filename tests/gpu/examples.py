# SPDX-License-Identifier: MIT
"""Writes the README.md of a recorded example, in OUT/examples/NAME beside its scrubbed traces.

    examples.py OUT BUILD NAME RANKS KEPT OPTIONS      of capture, and of workload.py transformer

Says what was recorded, on what (machine.json of OUT, which machine.py makes), how, what can be learnt from
it, and what `specter analyze` and `replay` print of it now; `make doc-examples` renews that part where the folder
lies in examples/traces.
"""

import argparse
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile

# Of the machine, as machine.py calls them; the rest of it is of no use to a reader of traces.
FACTS = ("driver", "power limit", "SM clock at most", "PyTorch", "CUDA of PyTorch", "NCCL", "cuBLAS", "Python", "specter",
         "commit")

# By how the example was made: one line of what it is, and what it shows.
ONE = (
    "Training steps of a GPT-style model on one GPU, recorded by specter.",
    "How much of a step's time is products of matrices and how fast they are, what kernels that specter does not time "
    "leave as gaps, and what the step would take on other GPUs and with more of them: the gradients' AllReduces are "
    "in it, of a group of one.",
)
SHARED = (
    "Training steps of a GPT-style model by {ranks} data-parallel ranks that share one GPU, recorded by specter.",
    "How operations of several ranks are matched and put on one timeline, who comes late, what of communication "
    "is exposed. The ranks take turns on one GPU and NCCL talks over sockets of the host (each rank is a node of its own "
    "to it, because ranks of one node may not share a GPU), so no time here says what a network or a second "
    "GPU could do.",
)
KINETO = (
    "The steps of gpt_1gpu as PyTorch's profiler (Kineto) records them.",
    "Every kernel's time, by its name; beside gpt_1gpu, what specter's own recording sees and what it does not.",
)


def story(name, ranks):
    what, learnt = KINETO if name.endswith("_kineto") else SHARED if ranks > 1 else ONE
    return what.format(ranks=ranks), learnt


def model(options):
    parser = argparse.ArgumentParser()
    for key in ("layers", "width", "tokens", "batch"):
        parser.add_argument("--" + key, type=int, required=True)
    o, _ = parser.parse_known_args(options.split())
    return (
        f"a decoder of {o.layers} layers, {o.width} wide, {o.width // 64} heads, in bf16; {o.batch} sequences of "
        f"{o.tokens} tokens a rank; DistributedDataParallel, fused AdamW (`tests/gpu/workload.py transformer`)"
    )


def commands(name, ranks, kept, options):
    """Returns the command that records it again, in the root of the repository, after `make`."""
    work = f"python3 tests/gpu/workload.py transformer {options}"
    if name.endswith("_kineto"):
        return f"{work} --profile rank0.json"
    launch = f"tests/gpu/run.sh --ranks {ranks} " if ranks > 1 else ""
    return f"specter capture {kept} -- {launch}{work}"


def said(out, name):
    """Returns the line that capture printed at its end, without the folder."""
    path = os.path.join(out, name + ".said")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as text:
        ends = [line.partition(", in ")[0] for line in text if line.startswith("specter: ") and ", in " in line]
    return f"which printed `{ends[-1]}`\n" if ends else ""


def versions(folder):
    """NCCL and CUDA as the first trace tells them, where the machine's facts have none."""
    path = sorted(glob.glob(os.path.join(folder, "*.jsonl.gz")))
    if not path:
        return {}
    with gzip.open(path[0], "rt", encoding="utf-8") as lines:
        first = json.loads(next(lines))
    nccl, cuda = first.get("nccl") or 0, first.get("cuda") or 0
    return {
        "NCCL": f"{nccl // 10000}.{nccl // 100 % 100}.{nccl % 100}",
        "CUDA of the driver": f"{cuda // 1000}.{cuda % 1000 // 10}",
    }


def facts(out, folder):
    with open(os.path.join(out, "machine.json"), encoding="utf-8") as text:
        known = json.load(text)
    if known["standin"]:
        yield "recorded on", "stand-ins for CUDA, cuBLAS and NCCL: no time here is a GPU's"
    found = {**versions(folder), **{k: v.removeprefix(k + " ") for k, v in known["facts"] if k in FACTS}}
    yield from {"GPU": known["gpu"], "date": known["date"], **found}.items()


def printed(out, build, command):
    """Returns the output of a command on examples/traces/NAME, which is still in OUT."""
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(os.path.join(place, "examples"))
        os.symlink(os.path.join(out, "examples"), os.path.join(place, "examples", "traces"))
        path = os.path.abspath(build) + ":" + os.environ["PATH"]
        env = {**os.environ, "PATH": path, "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
        run = subprocess.run(command, shell=True, cwd=place, env=env, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{command}: {run.stderr.strip()}")
    return "".join(f"    {line}".rstrip() + "\n" for line in [f"$ {command}", *run.stdout.rstrip("\n").split("\n")])


def readme(out, build, name, ranks, kept, options):
    folder = os.path.join(out, "examples", name)
    what, learnt = story(name, ranks)
    yield f"# {name}\n\n{what}\n\n"
    yield f"- model: {model(options)}\n- ranks: {ranks}\n"
    yield from (f"- {key}: {value}\n" for key, value in facts(out, folder))
    yield f"\nRecorded with\n\n    {commands(name, ranks, kept, options)}\n\n{said(out, name)}"
    yield "and scrubbed by `tests/gpu/scrub.py`: names of host, run and communicators, process ids and addresses are "
    yield f"made up, times and sizes are as recorded.\n\n{learnt}\n\n"
    yield printed(out, build, f"specter analyze examples/traces/{name}")
    yield "\n"
    yield printed(out, build, f"specter replay examples/traces/{name} --scale 1")


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    out, build, name, ranks, kept, options = sys.argv[1:]
    text = "".join(readme(os.path.abspath(out), build, name, int(ranks), kept, options))
    with open(os.path.join(out, "examples", name, "README.md"), "w", encoding="utf-8") as target:
        target.write(text)


if __name__ == "__main__":
    main()
