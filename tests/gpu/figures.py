# SPDX-License-Identifier: MIT
"""Figures that a check measured, for the report: claims that hold or not, and tables of figures.

    figures = Figures()
    figures.claim("duration against CUPTI, 50 to 200 us", measured=0.012, limit=0.05, unit="share")
    figures.claim("records lost", measured=0, limit=0)
    figures.equal("what the job hangs in", measured="rank 1, AllReduce #3", wanted="rank 1, AllReduce #3")
    table = figures.table("Durations against CUPTI", "class", "products", "median [share]")
    table.row("50-200 us", 30, 0.012)
    figures.note("the first second is not compared")
    figures.close()          # prints all of it, writes the file, status 1 where a claim does not hold

From a shell, one at a time, with the same status:

    figures.py claim WHAT MEASURED [LIMIT [UNIT]]      figures.py equal WHAT MEASURED WANTED      figures.py note TEXT

$FIGURES_OF is put before what is claimed, where a check asks the same twice: `2 ranks`. The file is
$SPECTER_FIGURES, which run.sh sets to a name of its own for each check; without it nothing is written.
Units stand in brackets behind a column's name and in `unit`: us, ns, MiB, ..., or none; a share is printed
as a percentage with a sign (how far one thing is off another), a part as one without (of a whole). Several
programs of one check add to the same file. A check of which nothing is written has failed.
"""

import json
import os
import sys

PERCENT = ("share", "part")  # printed as percentages, so neither is named in a column


def shown(value, unit):
    """A figure as people read it: shares and parts as percentages, others to four digits."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if not isinstance(value, (int, float)):
        return str(value)
    if unit in PERCENT:
        return f"{value:+.2%}" if unit == "share" else f"{value:.1%}"
    if isinstance(value, int):
        return f"{value}"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.1f}"


def with_unit(value, unit):
    return shown(value, unit) + ("" if value is None or unit in ("", *PERCENT) else " " + unit)


def unit_of(column):
    """`us` of a column `median [us]`, else an empty string."""
    return column[column.index("[") + 1 : -1] if column.endswith("]") else ""


def heading(column):
    return column[: column.index(" [")] if unit_of(column) in PERCENT else column


def cells_of(table):
    """The rows of a table as text, its head first."""
    units = [unit_of(c) for c in table["columns"]]
    yield [heading(c) for c in table["columns"]]
    for row in table["rows"]:
        yield [shown(value, unit) for value, unit in zip(row, units)]


class Table:
    def __init__(self, title, columns):
        self.title, self.columns, self.rows = title, columns, []

    def row(self, *cells):
        if len(cells) != len(self.columns):
            raise ValueError(f"{self.title}: {len(cells)} cells for {len(self.columns)} columns")
        self.rows.append(list(cells))

    def document(self):
        return {"title": self.title, "columns": list(self.columns), "rows": self.rows}

    def text(self):
        lines = list(cells_of(self.document()))
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join(
            "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip()
            for line in lines
        )


class Figures:
    def __init__(self):
        self.claims, self.tables, self.notes = [], [], []
        of = os.environ.get("FIGURES_OF")
        self.before = f"{of}: " if of else ""

    def claim(self, what, measured, limit=None, unit="", at_least=False, detail=False):
        """Holds where |measured| is at most the limit, or at least it; without a limit it is only told.

        A limit on nothing measured (None) does not hold. A detail is not among the report's claims unless it
        fails, only in the check's own section. Returns whether it holds.
        """
        holds = None
        if limit is not None:
            holds = measured is not None and (measured >= limit if at_least else abs(measured) <= limit)
        bound = "at least" if at_least else "at most"
        return self.add(what, measured, limit, unit, bound, holds, detail)

    def equal(self, what, measured, wanted, unit="", detail=False):
        """Holds where both are the same."""
        return self.add(what, measured, wanted, unit, "equal", measured == wanted, detail)

    def add(self, what, measured, limit, unit, bound, holds, detail):
        keys = ("what", "measured", "limit", "unit", "bound", "holds", "detail")
        self.claims.append(dict(zip(keys, (self.before + what, measured, limit, unit, bound, holds, detail))))
        return holds

    def table(self, title, *columns):
        self.tables.append(Table(self.before + title, columns))
        return self.tables[-1]

    def note(self, text):
        self.notes.append(text)

    def document(self):
        return {"claims": self.claims, "tables": [t.document() for t in self.tables], "notes": self.notes}

    def print(self):
        for table in self.tables:
            print(f"{table.title}\n{table.text()}\n")
        for note in self.notes:
            print(note)
        for claim in self.claims:
            print(claim_text(claim))

    def close(self):
        self.print()
        path = os.environ.get("SPECTER_FIGURES")
        if path:
            merge(path, self.document())
        if any(claim["holds"] is False for claim in self.claims):
            sys.exit(1)


def limit_text(claim, words=(("at most", "at most "), ("at least", "at least "))):
    """`at most 5.00%`, `at least 80.0%`, or what it is to be."""
    return dict(words).get(claim["bound"], "") + with_unit(claim["limit"], claim["unit"]).lstrip("+")


def claim_text(claim):
    measured = f"{claim['what']}: {with_unit(claim['measured'], claim['unit'])}"
    if claim["holds"] is None:
        return measured
    wanted = limit_text(claim) if claim["bound"] != "equal" else f"wanted {limit_text(claim)}"
    return f"{measured}, {wanted}: {'holds' if claim['holds'] else 'FAILS'}"


def merge(path, document):
    """Adds to what an earlier program of the same check wrote."""
    known = {"claims": [], "tables": [], "notes": []}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as text:
            known = json.load(text)
    for key, values in document.items():
        known[key] += values
    with open(path + ".new", "w", encoding="utf-8") as out:
        json.dump(known, out, indent=1)
    os.replace(path + ".new", path)


def number(text):
    """An int or float that the text spells, else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def main(verb="", *words):
    figures = Figures()
    if verb == "claim" and len(words) in (2, 3, 4):
        figures.claim(words[0], *(number(w) for w in words[1:3]), **({"unit": words[3]} if words[3:] else {}))
    elif verb == "equal" and len(words) == 3:
        figures.equal(*words)
    elif verb == "note" and len(words) == 1:
        figures.note(words[0])
    else:
        sys.exit(__doc__)
    figures.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
