# SPDX-License-Identifier: MIT
"""What recording costs a training step: untraced, traced and under torch.profiler, in turn.

    overhead.py SPECTER WORKLOAD [--rounds N] [--limit PERCENT] [--json FILE] [-- WORKLOAD_OPTION...]

Each round runs the three once, as processes of their own, in an order that changes; a run's figure is
the median of its steps, and what is compared are the medians over the rounds. Status 1 when the traced step
is longer than the limit allows.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def one_run(command):
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith('{"rank"'))
    return statistics.median(json.loads(line)["step_us"])


def commands(options, folder):
    program = [sys.executable, os.path.join(HERE, "workload.py"), options.workload, *options.rest]
    return {
        "untraced": program,
        "traced": [options.specter, "capture", "-o", os.path.join(folder, "trace"), "--", *program],
        "profiler": [*program, "--profile", os.path.join(folder, "kineto.json")],
    }


def measure(options):
    steps = {"untraced": [], "traced": [], "profiler": []}
    for i in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            ways = list(commands(options, folder).items())
            for name, command in ways[i % 3 :] + ways[: i % 3]:
                steps[name].append(one_run(command))
    return steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("specter")
    parser.add_argument("workload")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=1.0)
    parser.add_argument("--json")
    parser.add_argument("rest", nargs="*")
    options = parser.parse_args()
    steps = measure(options)
    base = statistics.median(steps["untraced"])
    spread = (max(steps["untraced"]) - min(steps["untraced"])) / base
    print(f"{options.workload}: {options.rounds} rounds, untraced runs spread over {spread:.1%}")
    shares = {}
    for name, values in steps.items():
        shares[name] = statistics.median(values) / base - 1
        print(f"{name:>10} {statistics.median(values):>12.1f} us a step {shares[name]:>+8.2%}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"step_us": steps, "overhead": shares, "spread": spread}, out)
    if shares["traced"] * 100 > options.limit:
        sys.exit(f"overhead: {shares['traced']:.2%} is more than {options.limit} %")


if __name__ == "__main__":
    main()
