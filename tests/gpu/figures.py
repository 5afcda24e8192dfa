# SPDX-License-Identifier: MIT
"""What a check measured, for the report: claims that hold or not, and tables of figures.

    figures = Figures()
    figures.claim("duration against CUPTI, 50 to 200 us", measured=0.012, limit=0.05, unit="share")
    table = figures.table("Durations against CUPTI", "class", "products", "median [share]")
    table.row("50-200 us", 30, 0.012)
    figures.note("the first second is not compared")
    figures.close()          # prints all of it, writes the file, status 1 where a claim does not hold

The file is $SPECTER_FIGURES, which run.sh sets to a name of its own for each check; without it nothing is
written. Units stand in brackets behind a column's name and in `unit`: us, ns, share (printed as a
percentage), MiB, or none. Several programs of one check add to the same file.
"""

import json
import os
import sys


def shown(value, unit):
    """A figure as people read it: shares as percentages with a sign, others to four digits."""
    if value is None:
        return "-"
    if isinstance(value, str) or isinstance(value, bool):
        return str(value)
    if unit == "share":
        return f"{value:+.2%}"
    if isinstance(value, int):
        return f"{value}"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.1f}"


def unit_of(column):
    """`us` of a column `median [us]`, else an empty string."""
    return column[column.index("[") + 1 : -1] if column.endswith("]") else ""


class Table:
    def __init__(self, title, columns):
        self.title, self.columns, self.rows = title, columns, []

    def row(self, *cells):
        if len(cells) != len(self.columns):
            raise ValueError(f"{self.title}: {len(cells)} cells for {len(self.columns)} columns")
        self.rows.append(list(cells))

    def text(self):
        head = [c.replace(" [share]", "") for c in self.columns]
        body = [[shown(v, unit_of(c)) for v, c in zip(row, self.columns)] for row in self.rows]
        widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
        return "\n".join(
            "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths)))
            for line in [head, *body]
        )


class Figures:
    def __init__(self):
        self.claims, self.tables, self.notes = [], [], []

    def claim(self, what, measured, limit=None, unit="", at_least=False):
        """Holds where |measured| is at most the limit, or at least it; without a limit it is only told.

        A limit on nothing measured (None) does not hold. Returns whether it holds.
        """
        holds = None
        if limit is not None:
            holds = measured is not None and (measured >= limit if at_least else abs(measured) <= limit)
        self.claims.append(
            {"what": what, "measured": measured, "limit": limit, "unit": unit, "at_least": at_least, "holds": holds}
        )
        return holds

    def table(self, title, *columns):
        self.tables.append(Table(title, columns))
        return self.tables[-1]

    def note(self, text):
        self.notes.append(text)

    def document(self):
        tables = [{"title": t.title, "columns": list(t.columns), "rows": t.rows} for t in self.tables]
        return {"claims": self.claims, "tables": tables, "notes": self.notes}

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


def claim_text(claim):
    measured = shown(claim["measured"], claim["unit"])
    unit = "" if claim["unit"] in ("", "share") else " " + claim["unit"]
    if claim["limit"] is None:
        return f"{claim['what']}: {measured}{unit}"
    limit = shown(claim["limit"], claim["unit"]).lstrip("+")
    bound = "at least" if claim["at_least"] else "at most"
    return f"{claim['what']}: {measured}{unit}, {bound} {limit}{unit}: {'holds' if claim['holds'] else 'FAILS'}"


def merge(path, document):
    """Adds to what an earlier program of the same check wrote."""
    known = {"claims": [], "tables": [], "notes": []}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as text:
            known = json.load(text)
    for key, values in document.items():
        known[key] += values
    with open(path, "w", encoding="utf-8") as out:
        json.dump(known, out, indent=1)
