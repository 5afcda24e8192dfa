# SPDX-License-Identifier: MIT
"""Frames of one library, named by the argument: they hold the numbers of the JSON, and their types."""
import importlib
import math
import os
import sys

import specter

kind = sys.argv[1]


def cells(frame):
    """{column: values} with None for what is not known."""
    if kind == "pandas":
        import pandas
        return {name: [None if value is pandas.NA or value is None or (isinstance(value, float) and math.isnan(value))
                       else value for value in frame[name].tolist()] for name in frame}
    return frame.to_dict(as_series=False) if kind == "polars" else frame.to_pydict()


def known(value):
    """Without the keys of inner objects that are null: a frame's struct has the fields of all rows."""
    if isinstance(value, dict):
        return {key: known(inner) for key, inner in value.items() if inner is not None}
    return [known(inner) for inner in value] if isinstance(value, list) else value


def check(result, name):
    rows = result if name is None else result
    for part in name.split(".") if name else []:
        rows = rows[int(part)] if isinstance(rows, list) else rows[part]
    got = cells(specter.frame(result, name, kind))
    for key in {key for row in rows for key in row}:
        want = [row.get(key) for row in rows]
        if known(got[key]) != known(want):
            print(f"{name}.{key}: {got[key]}, want {want}")
        if any(type(a) is int and type(b) is float for a, b in zip(want, got[key])) and float not in map(type, want):
            print(f"{name}.{key}: whole numbers have become {got[key]}")
    return len(rows)


traces = os.environ["ROOT"] + "/tests/cli/replay/data/two_ranks"
run = specter.analyze(traces)
importlib.import_module(kind)
if specter.frame(run, "ranks").__class__.__module__.split(".")[0] != kind:
    print("the library that is imported already is not the default")
count = sum(check(run, name) for name in specter.tables(run))
grid = specter.sweep({"scales": [1, 8]}, traces)
count += check(grid, "rows") + check(specter.replay(traces), "scales")
count += check(specter.predict("collective", op="all_reduce", bytes="1M:4M", ranks=8), None)
big = {"rows": [{"ns": 2**53 + 1, "empty": None}, {"ns": None, "empty": None}]}  # a double holds no such number
count += check(big, "rows")
if count < 20:
    print("only", count, "rows compared")
