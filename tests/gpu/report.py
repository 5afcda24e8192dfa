# SPDX-License-Identifier: MIT
"""Writes FOLDER/report.md from what the checks of run.sh left in FOLDER/checks.

    report.py FOLDER ROOT CHECK...

Claims first, then a section a check: its tables, its notes, and its log where it did not pass.
"""

import datetime
import json
import os
import subprocess
import sys

import figures

LOG_LINES = 20


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as text:
            return text.read()
    except FileNotFoundError:
        return ""


def machine():
    """Lines about the GPU and the software that ran on it."""
    query = "name,driver_version,memory.total,clocks.sm,clocks.max.sm,power.limit"
    smi = output("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader").splitlines()
    versions = output(
        sys.executable,
        "-c",
        "import torch; print('PyTorch', torch.__version__, 'CUDA', torch.version.cuda, "
        "'NCCL', '.'.join(map(str, torch.cuda.nccl.version())))",
    )
    return [*smi[:1], versions]


class Check:
    def __init__(self, folder, name):
        base = os.path.join(folder, "checks", name)
        self.name, self.log = name, read(base + ".log")
        self.verdict, _, self.seconds = read(base + ".verdict").strip().partition(" ")
        known = read(base + ".figures")
        self.figures = json.loads(known) if known else {"claims": [], "tables": [], "notes": []}


def markdown(table):
    columns = [c.replace(" [share]", "") for c in table["columns"]]
    yield "| " + " | ".join(columns) + " |"
    yield "|---" + "|--:" * (len(columns) - 1) + "|"
    for row in table["rows"]:
        cells = [figures.shown(v, figures.unit_of(c)) for v, c in zip(row, table["columns"])]
        yield "| " + " | ".join(cells) + " |"


def claims(checks):
    yield "| check | claim | measured | limit | |"
    yield "|---|---|--:|--:|---|"
    for check in checks:
        for claim in check.figures["claims"]:
            unit = "" if claim["unit"] in ("", "share") else " " + claim["unit"]
            limit = "" if claim["limit"] is None else figures.shown(claim["limit"], claim["unit"]).lstrip("+") + unit
            verdict = {None: "", True: "holds", False: "**fails**"}[claim["holds"]]
            measured = figures.shown(claim["measured"], claim["unit"]) + unit
            yield f"| {check.name} | {claim['what']} | {measured} | {limit} | {verdict} |"


def section(check):
    yield f"## {check.name}: {check.verdict}, {check.seconds} s"
    for table in check.figures["tables"]:
        yield from ("", f"**{table['title']}**", "", *markdown(table))
    for note in check.figures["notes"]:
        yield from ("", note)
    if check.verdict != "passed" or not any(check.figures.values()):
        yield from ("", "```", *check.log.strip().splitlines()[-LOG_LINES:], "```")
    yield ""


def report(folder, root, names):
    checks = [check for check in (Check(folder, name) for name in names) if check.verdict]
    gpu, versions = (machine() + ["", ""])[:2]
    yield f"# {gpu.split(',')[0] or 'no GPU'}, {datetime.date.today()}"
    commit = output("git", "-C", root, "rev-parse", "--short", "HEAD") or read(os.path.join(root, "COMMIT")).strip()
    yield from ("", f"Written by tests/gpu/run.sh of {commit or 'an unknown commit'}.", "")
    yield from (f"- GPU, driver, memory, SM clock now and at most, power limit: {gpu}", f"- {versions}", "")
    counts = [sum(c.verdict == v for c in checks) for v in ("passed", "failed", "skipped")]
    yield "{} checks passed, {} failed, {} skipped.".format(*counts)
    yield from ("", *claims(checks), "")
    for check in checks:
        yield from section(check)


def main():
    folder, root, *names = sys.argv[1:]
    with open(os.path.join(folder, "report.md"), "w", encoding="utf-8") as out:
        out.write("\n".join(report(folder, root, names)))


if __name__ == "__main__":
    main()
