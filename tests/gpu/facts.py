# SPDX-License-Identifier: MIT
"""The facts (facts/facts.h) of real libraries beside those of the stand-ins.

    facts.py PROGRAM --real FOLDER[:FOLDER...] --stand-ins FOLDER [--no-device] [--table FILE] [PATTERN...]

Prints what differs, what the calls cost on each, and how many facts agree; all of them go to FILE, a line
each: name, real, stand-in, what is known, and from where (facts/known.tsv). Fails where the two differ,
unless the fact is known as not imitated. Numbers of errors that only one side knows are told, not
failures: libraries are of different versions. --no-device asks what needs no GPU, and no costs.
"""

import argparse
import os
import subprocess
import sys

from figures import Figures

KNOWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "facts", "known.tsv")
ABSENT = "absent"
SHOWN = 60  # differences in the report


def asked(program, folders, options):
    """{name: answer} of one run with the libraries of these folders."""
    before = os.environ.get("LD_LIBRARY_PATH")
    path = ":".join(filter(None, [folders, before]))
    environment = {**os.environ, "LD_LIBRARY_PATH": path}
    environment.pop("EMU_DIR", None)  # the stand-ins': of one job, and each question is a job of its own
    run = subprocess.run([program, *options], env=environment, stdout=subprocess.PIPE, check=False, text=True)
    if run.returncode != 0:
        sys.exit(f"facts: {program}: status {run.returncode}")
    return dict(line.split("\t", 1) for line in run.stdout.splitlines() if "\t" in line)


def known_facts(path):
    """{name: (answer, status, source)}"""
    with open(path, encoding="utf-8") as text:
        rows = (line.rstrip("\n").split("\t") for line in text if line.strip() and not line.startswith("#"))
        return {name: (answer, status, source) for name, answer, status, source in rows}


def family(name):
    """`error.cuda` of `error.cuda.35`: a library that is not there answers only the first of it."""
    return name.rsplit(".", 1)[0]


def verdict(name, real, stand_in, known):
    if real == stand_in:
        return "agree"
    if ABSENT in (real, stand_in):
        return ABSENT
    if name.startswith("error.") and None in (real, stand_in):
        return "other version"
    if name in known and known[name][1] == "not imitated":
        return "not imitated"
    return "differ"


def compare(real, stand_in, known):
    """[(verdict, name, real, stand-in, documented, source)], in the order asked."""
    rows = []
    lacking = {family(name) for name, answer in real.items() if answer == ABSENT}
    for name in [*stand_in, *(name for name in real if name not in stand_in)]:
        answer, status, source = known.get(name, ("", "", ""))
        documented = answer if status in ("documented", "seen") else "-"
        one, other = real.get(name, ABSENT if family(name) in lacking else None), stand_in.get(name)
        rows.append((verdict(name, one, other, known), name, one, other, documented, source))
    return rows


def put(figures, title, rows, last):
    if not rows:
        return
    table = figures.table(title, "fact", "real", "stand-in", last)
    for _, name, real, stand_in, documented, source in rows[:SHOWN]:
        table.row(name, real, stand_in, source if last == "why" else documented)


def write(path, rows):
    with open(path, "w", encoding="utf-8") as out:
        out.write("verdict\tfact\treal\tstand-in\tdocumented\tsource\n")
        for row in rows:
            out.write("\t".join("" if cell is None else cell for cell in row) + "\n")


def number(answer):
    return int(answer) if answer and answer.isdigit() else answer


def put_costs(figures, real, stand_in):
    table = figures.table("Cost of a call, of the calling thread", "call", "real [ns]", "stand-in [ns]")
    for name, cost in real.items():
        table.row(name.removeprefix("cost."), *(number(c) for c in (cost, stand_in.get(name))))


def report(figures, rows, table):
    of = {kind: [row for row in rows if row[0] == kind] for kind, *_ in rows}
    differ = of.get("differ", [])
    put(figures, "Facts in which real libraries and stand-ins differ", differ, "documented")
    if len(differ) > SHOWN:
        figures.note(f"and {len(differ) - SHOWN} more that differ")
    put(figures, "Facts that are not imitated", of.get("not imitated", []), "why")
    figures.note(", ".join(f"{len(of[kind])} {kind}" for kind in of) + f", of {len(rows)} facts")
    if table:
        figures.note(f"all facts: {os.path.basename(table)}")
    return differ, of.get(ABSENT, []), of.get("agree", [])


def main():
    parser = argparse.ArgumentParser(prog="facts.py")
    parser.add_argument("program")
    parser.add_argument("--real", required=True)
    parser.add_argument("--stand-ins", required=True)
    parser.add_argument("--no-device", action="store_true")
    parser.add_argument("--known", default=KNOWN)
    parser.add_argument("--table")
    parser.add_argument("patterns", nargs="*")
    args = parser.parse_intermixed_args()
    options = (["--no-device"] if args.no_device else []) + args.patterns
    rows = compare(
        asked(args.program, args.real, options), asked(args.program, args.stand_ins, options), known_facts(args.known)
    )
    figures = Figures()
    differ, absent, agree = report(figures, rows, args.table)
    if args.table:
        write(args.table, rows)
    figures.claim("facts that agree", len(agree), limit=1, at_least=True)
    figures.claim("facts that differ", len(differ), limit=0)
    if not args.no_device:
        figures.claim("facts that a library lacks", len(absent), limit=0)
        put_costs(
            figures, asked(args.program, args.real, ["--costs"]), asked(args.program, args.stand_ins, ["--costs"])
        )
    figures.close()


if __name__ == "__main__":
    main()
