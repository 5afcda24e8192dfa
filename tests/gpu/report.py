# SPDX-License-Identifier: MIT
"""Writes FOLDER/report.md from what run.sh left in FOLDER: machine.json and checks/*.

    report.py FOLDER <TABLE_OF_CHECKS

The table is that of run.sh: name, seconds, what is asked. All claims come first, then the machine, then a
section a check: what it claims and tells, its tables and notes, and the end of its log where it did not pass.
"""

import json
import os
import re
import sys

import figures

LOG_LINES = 40
VERDICTS = ("passed", "failed", "skipped", "interrupted")


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as text:
            return text.read()
    except FileNotFoundError:
        return ""


def read_json(path, otherwise):
    text = read(path)
    return json.loads(text) if text else otherwise


class Check:
    """A row of the table, and what its run left: the verdict (empty: not run), figures and log."""

    def __init__(self, folder, name, question):
        base = os.path.join(folder, "checks", name)
        self.name, self.question, self.log = name, question, read(base + ".log")
        lines = read(base + ".verdict").splitlines() + ["", "", ""]
        self.verdict, self.seconds, self.build = (lines[0].split() + ["", "", ""])[:3]
        self.reason, self.gpu_state = lines[1], lines[2]
        self.figures = read_json(base + ".figures", {"claims": [], "tables": [], "notes": []})

    def told(self):
        return [c for c in self.figures["claims"] if c["holds"] is None]

    def claimed(self):
        return [c for c in self.figures["claims"] if c["holds"] is not None]


def cell(text):
    """One line, with nothing that ends a cell or begins markup."""
    return re.sub(r"([\\`*_<>|])", r"\\\1", " ".join(str(text).split()))


def rows(head, body, align=""):
    """A table; `align` has l or r for each column, r where it is too short (l for the first)."""
    align = (align or "l").ljust(len(head), "r")
    yield "| " + " | ".join(map(cell, head)) + " |"
    yield "|" + "|".join("---" if a == "l" else "--:" for a in align) + "|"
    for line in body:
        yield "| " + " | ".join(map(cell, line)) + " |"


SIGNS = (("at most", "≤\u00a0"), ("at least", "≥\u00a0"))


def claim_cells(claim):
    # At most none is none.
    limit = "0" if claim["bound"] == "at most" and claim["limit"] == 0 else figures.limit_text(claim, SIGNS)
    verdict = "holds" if claim["holds"] else "FAILS"
    return (claim["what"], figures.with_unit(claim["measured"], claim["unit"]), limit, verdict)


def claims_table(head, body, align):
    return [line.replace("| FAILS |", "| **FAILS** |") for line in rows(head, body, align)]


def claims(checks):
    """Returns the claims of the suite, and all that failed; a check's name stands only where its claims begin."""
    body = []
    for check in checks:
        told = [c for c in check.claimed() if not c.get("detail") or not c["holds"]]
        body += [(check.name if i == 0 else "", *claim_cells(claim)) for i, claim in enumerate(told)]
    head = ("check", "claim", "measured", "limit", "verdict")
    return claims_table(head, body, "llrrl") if body else ["None was made."]


def table_of(document):
    head, *body = figures.cells_of(document)
    numbers = ["l" if any(isinstance(r[i], str) for r in document["rows"]) else "r" for i in range(len(head))]
    return ("", f"**{cell(document['title'])}**", "", *rows(head, body, "l" + "".join(numbers[1:])))


def section(check):
    yield from ("", f"## {cell(check.name)}", "")
    question = check.question[:1].upper() + check.question[1:] + "? " if check.question else ""
    reason = f": {cell(check.reason)}" if check.reason else ""
    yield f"{question}**{check.verdict.capitalize()}** after {check.seconds} s{reason}."
    for document in check.figures["tables"]:
        yield from table_of(document)
    details = [claim_cells(c) for c in check.claimed() if c.get("detail")]
    if details:
        yield from ("", *claims_table(("presupposed", "measured", "limit", "verdict"), details, "lrrl"))
    if check.told():
        body = [(c["what"], figures.with_unit(c["measured"], c["unit"])) for c in check.told()]
        yield from ("", *rows(("also measured", "value"), body))
    for note in check.figures["notes"]:
        yield from ("", cell(note))
    if check.verdict != "passed":
        log = check.log.strip().splitlines()[-LOG_LINES:]
        yield from ("", "```text", *(line.replace("```", "` ` `") for line in log), "```")


def states(checks):
    """Returns the state that nvidia-smi gave as each check ended: it shows clocks that fell, and a hot GPU."""
    known = [(c.name, *(v.strip() for v in c.gpu_state.split(","))) for c in checks if c.gpu_state]
    head = ("as it ended", "SM clock", "power", "temperature (°C)", "what limited the clock (bits)")
    known = [row for row in known if len(row) == len(head)]
    return ("", "## State of the GPU", "", *rows(head, known)) if known else ()


def standing(machine, checks):
    """Yields the lines that a reader must know before any figure."""
    counts = [(sum(c.verdict == v for c in checks), v) for v in VERDICTS]
    counts = [f"{n} {v}" for n, v in counts if n or v in VERDICTS[:3]]
    yield f"Written by `tests/gpu/run.sh`. Checks: {', '.join(counts)}."
    missing = [f"`{c.name}`" for c in checks if not c.verdict]
    if missing:
        yield from ("", f"**Not run:** {', '.join(missing)}.")
    if machine.get("standin"):
        yield from ("", "**A rehearsal on stand-ins (tests/emu): no figure here is a measurement.**")
    if len({c.build for c in checks if c.build}) > 1:
        yield from ("", "**Not all checks ran on the same build of specter.**")


def report(folder, table_of_checks):
    table = [(line.split(None, 2) + [""])[:3] for line in table_of_checks if line.strip()]
    checks = [Check(folder, name, question.strip()) for name, _, question in table]
    machine = read_json(os.path.join(folder, "machine.json"), {"gpu": "", "date": "", "facts": []})
    ran = [check for check in checks if check.verdict]
    yield from (f"# {machine['gpu'] or 'No GPU'}, {machine['date']}", "")
    yield from standing(machine, checks)
    yield from ("", "## Claims", "", *claims(ran))
    yield from ("", "## Machine and software", "", *rows(("GPU", machine["gpu"]), machine["facts"], "ll"))
    for check in ran:
        yield from section(check)
    yield from states(ran)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = os.path.join(sys.argv[1], "report.md")
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write("\n".join(report(sys.argv[1], sys.stdin)) + "\n")
    os.replace(path + ".new", path)


if __name__ == "__main__":
    main()
