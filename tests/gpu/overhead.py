# SPDX-License-Identifier: MIT
"""Measures the cost of recording to a training step: untraced and traced in turn, other ways beside them.

    overhead.py SPECTER WORKLOAD [--limit PERCENT] [--seconds N] [--way NAME]... [-- WORKLOAD_OPTION...]

A round runs the workload untraced and traced, as processes of their own, the first one now being the one and now
the other; the ways named with --way (WAYS) run behind them in some of the rounds, as far as
time goes. A run's figure is the median of its steps; compared are the runs of one round (paired.py). Rounds are added while it cannot be told whether
the limit holds, as long as the next one is expected to end within --seconds.

Status 0: the interval of the traced step's overhead lies within the limit; 1: beyond it, or records were
dropped; 77: the limit lies within the interval, so noise is larger than what is asked.
"""

import argparse
import collections
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import paired
import traces
from figures import Figures

HERE = os.path.dirname(os.path.abspath(__file__))
WAY_ROUNDS = (0, 2, 4)  # in which the other ways run, too, where that leaves time for a verdict

CAPTURE = ["{specter}", "capture", "-o", "{folder}/trace"]
NSYS = ["nsys", "profile", "--trace=cuda,nvtx,cublas", "--sample=none", "--cpuctxsw=none", "-o", "{folder}/nsys"]

# The words before the workload's command, and those after it.
WAYS = {
    "untraced": ([], []),
    "traced": ([*CAPTURE, "--"], []),
    "no-launches": ([*CAPTURE, "--no-launches", "--"], []),
    "no-deps": ([*CAPTURE, "--no-deps", "--"], []),
    "nccl-plugin": ([*CAPTURE, "--nccl-plugin", "--"], []),
    "profiler": ([], ["--profile", "{folder}/kineto.json"]),
    "nsys": (NSYS, []),
}

# One process: its measured steps, all its steps, CPU time of all its threads, and its Recording or None.
Run = collections.namedtuple("Run", "step_us steps cpu_s recording")
Recording = collections.namedtuple("Recording", "bytes records rate dropped")


# ---- one run ----


def recording(folder):
    """Returns the figures of a trace; None where there is none."""
    files = traces.read(folder)
    if not files:
        return None
    nbytes = sum(os.path.getsize(os.path.join(folder, name)) for name in files)
    lines = [record for records in files.values() for record in records]
    rates = [r["sample"] for r in lines if r.get("event") == "init"]
    rates += [r["rate"] for r in lines if r.get("event") == "sample"]
    ends = [traces.shutdown(records) for records in files.values()]
    return Recording(nbytes, len(lines), max(rates), None if None in ends else sum(e["dropped"] for e in ends))


def command_of(options, way, folder):
    before, behind = WAYS[way]
    program = [sys.executable, options.program, options.workload, *options.rest]
    words = {"specter": options.specter, "folder": folder}
    return [word.format(**words) for word in before] + program + [word.format(**words) for word in behind]


def one_run(options, way):
    """None where the program did not end well."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(command_of(options, way, folder), stdout=subprocess.PIPE, text=True)
        output = process.stdout.read()
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        line = next((line for line in output.splitlines() if line.startswith('{"rank"')), None)
        if status != 0 or line is None:
            return None
        said = json.loads(line)
        cpu_s = usage.ru_utime + usage.ru_stime
        return Run(said["step_us"], len(said["loss"]), cpu_s, recording(os.path.join(folder, "trace")))


# ---- rounds ----


class Rounds:
    def __init__(self, options):
        self.options, self.figures = options, Figures()
        self.begun, self.pair_s = time.monotonic(), 0.0
        self.ways = [way for way in options.way if way != "nsys" or shutil.which("nsys")]
        self.runs = {way: {} for way in ["untraced", "traced", *self.ways]}  # by the number of their round

    def run(self, way, number):
        run = one_run(self.options, way)
        if run is not None:
            self.runs[way][number] = run
        elif way not in self.ways:
            sys.exit(f"overhead: the {way} program failed")
        else:
            self.ways.remove(way)
            self.figures.note(f"{way}: the program failed.")

    def has_time(self, pairs):
        """For so many pairs of runs."""
        return time.monotonic() - self.begun + pairs * self.pair_s <= self.options.seconds

    def round(self, number):
        begun, pair = time.monotonic(), ["untraced", "traced"]
        for way in pair[:: -1 if number % 2 else 1]:
            self.run(way, number)
        self.pair_s = max(self.pair_s, time.monotonic() - begun)
        before_verdict = paired.LOOKS[0] - number - 1
        for way in list(self.ways) if number in WAY_ROUNDS else []:
            if self.has_time(before_verdict + 0.5):
                self.run(way, number)

    def differences(self, way, figure):
        """Of a way's runs to the untraced of the same round."""
        return [figure(run) / figure(self.runs["untraced"][number]) - 1 for number, run in self.runs[way].items()]

    def verdict(self):
        _, low, high = paired.interval(self.differences("traced", median_step))
        return paired.decide(low, high, self.options.limit / 100)

    def measure(self):
        for number in range(paired.LOOKS[-1]):
            if number > 0 and not self.has_time(1):
                break
            self.round(number)
            if number + 1 in paired.LOOKS and self.verdict() != "cannot tell":
                break
        for way in [way for way, runs in self.runs.items() if not runs]:
            del self.runs[way]
            self.figures.note(f"There are no figures of {way}.")


def median_step(run):
    return statistics.median(run.step_us)


def mean_step(run):
    return statistics.fmean(run.step_us)


def cpu_time(run):
    return run.cpu_s


# ---- the report ----


def by_way(rounds):
    return [(way, list(runs.values())) for way, runs in rounds.runs.items()]


def finite(value):
    return value if value is not None and abs(value) != float("inf") else None


def tell_costs(rounds):
    table = rounds.figures.table(
        f"{rounds.options.workload}: longer than untraced, with the ends of the interval", "way", "rounds",
        "median step [share]", "median from [share]", "median to [share]",
        "mean step [share]", "mean from [share]", "mean to [share]", "CPU time of the process [share]",
    )  # fmt: skip
    for way in [w for w in rounds.runs if w != "untraced"]:
        cells = [way, len(rounds.runs[way])]
        for figure in (median_step, mean_step):
            cells += map(finite, paired.interval(rounds.differences(way, figure)))
        table.row(*cells, statistics.median(rounds.differences(way, cpu_time)))


def tell_steps(rounds):
    table = rounds.figures.table(
        f"{rounds.options.workload}: steps", "way", "steps", "p50 [us]", "p95 [us]", "max [us]", "CPU time [s]"
    )
    for way, runs in by_way(rounds):
        steps = sorted(step for run in runs for step in run.step_us)
        p95 = steps[int(0.95 * (len(steps) - 1))]
        cpu = statistics.median(run.cpu_s for run in runs)
        table.row(way, len(steps), statistics.median(steps), p95, steps[-1], cpu)


def tell_traces(rounds):
    table = rounds.figures.table(
        f"{rounds.options.workload}: traces", "way", "bytes a step", "records a step", "one product in", "dropped"
    )
    for way, runs in by_way(rounds):
        made = [run for run in runs if run.recording]
        if not made:
            continue
        nbytes = statistics.median(run.recording.bytes / run.steps for run in made)
        records = statistics.median(run.recording.records / run.steps for run in made)
        lost = [run.recording.dropped for run in made]
        dropped = None if None in lost else sum(lost)
        table.row(way, round(nbytes), records, max(run.recording.rate for run in made), dropped)
        rounds.figures.claim(f"{rounds.options.workload}: records dropped, {way}", dropped, limit=0)
    if not all(run.recording for run in rounds.runs["traced"].values()):
        rounds.figures.claim(f"{rounds.options.workload}: traced runs left a trace", None, limit=1, at_least=True)


def scatter(values):
    """Half of the values lie within this share of their median."""
    middle = statistics.median(values)
    return statistics.median(abs(v / middle - 1) for v in values)


def tell_verdict(rounds):
    """True where it can be told."""
    options, figures = rounds.options, rounds.figures
    estimate, low, high = paired.interval(rounds.differences("traced", median_step))
    verdict = paired.decide(low, high, options.limit / 100)
    what = f"{options.workload}: overhead of default capture"
    figures.claim(what, estimate, unit="share")
    noise = scatter([median_step(run) for run in rounds.runs["untraced"].values()])
    figures.note(
        f"{verdict}: {len(rounds.runs['traced'])} rounds, the interval reaches from {low:+.2%} to {high:+.2%}, "
        f"the limit is {options.limit:g} %; half of the untraced runs lie within {noise:.2%} of their median."
    )
    if verdict == "cannot tell":
        return False
    # A step that became shorter costs nothing.
    end = max(0.0, high if verdict == "holds" else low)
    which = "upper" if verdict == "holds" else "lower"
    figures.claim(f"{what}, {which} end", end, limit=options.limit / 100, unit="share")
    return True


def parse(words):
    """Words behind `--` are the workload's; argparse would refuse those that begin with a dash."""
    end = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser()
    parser.add_argument("specter")
    parser.add_argument("workload")
    parser.add_argument("--limit", type=float, default=1.0, metavar="PERCENT")
    parser.add_argument("--seconds", type=float, default=150, metavar="N")
    parser.add_argument("--way", action="append", default=[], choices=[w for w in WAYS if not w.endswith("traced")])
    parser.add_argument("--program", default=os.path.join(HERE, "workload.py"), metavar="FILE")
    options = parser.parse_args(words[:end])
    options.rest = words[end + 1 :]
    return options


def main():
    rounds = Rounds(parse(sys.argv[1:]))
    rounds.measure()
    tell_costs(rounds)
    tell_steps(rounds)
    tell_traces(rounds)
    told = tell_verdict(rounds)
    rounds.figures.close()
    if not told:
        print("cannot tell: noise is larger than the limit, or the rounds are too few")
        sys.exit(77)


if __name__ == "__main__":
    main()
