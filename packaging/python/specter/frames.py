# SPDX-License-Identifier: MIT
"""Tables of a result as frames of pandas, polars or pyarrow, with the numbers that the JSON has."""
from __future__ import annotations

import importlib
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

KINDS = ("pandas", "polars", "pyarrow")


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def tables(result: Any) -> Dict[str, int]:
    """The tables of a result and their rows: {"ranks": 8, ...}; those of inner objects with a dot between."""
    found: Dict[str, int] = {}
    members = enumerate(result) if isinstance(result, list) else result.items()
    for key, value in members:
        if _is_table(value):
            found[str(key)] = len(value)
        if isinstance(value, dict) or (_is_table(value) and any(_has_tables(row) for row in value)):
            found.update({f"{key}.{inner}": rows for inner, rows in tables(value).items()})
    return found


def _has_tables(row: Mapping[str, Any]) -> bool:
    return any(_is_table(value) and value for value in row.values())


def _rows(result: Any, name: Optional[str]) -> Sequence[Mapping[str, Any]]:
    value = result
    for part in name.split(".") if name else []:
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise KeyError(f"no table '{name}'; there are {', '.join(tables(result)) or 'none'}") from None
    if not _is_table(value):
        raise KeyError(f"'{name or 'the result'}' is no table; there are {', '.join(tables(result)) or 'none'}")
    rows: Sequence[Mapping[str, Any]] = value
    return rows


def _columns(rows: Sequence[Mapping[str, Any]]) -> Dict[str, List[Any]]:
    """Column by column; JSON's 0 beside 0.5 is 0.0, so that a column has one type."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        if any(isinstance(value, float) for value in values):
            values = [float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in values]
        columns[name] = values
    return columns


def _library(kind: Optional[str]) -> Any:
    """The module: the one asked for, else one that the program has imported, else one that is installed."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind '{kind}' is none of {', '.join(KINDS)}")
    for name in [kind] if kind else sorted(KINDS, key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ImportError(f"{kind or 'none of ' + ', '.join(KINDS)} is installed; rows are lists of dicts without it")


def frame(result: Union[Mapping[str, Any], Sequence[Any]], name: Optional[str] = None,
          kind: Optional[str] = None) -> Any:
    """The table `name` of a result as a frame; without a name, a list of results (those of predict()).

    kind: "pandas", "polars" or "pyarrow" (a Table); default: the first of these that is imported already, else
    installed. Whole numbers stay whole beside nulls (pandas: Int64). KeyError names the tables that there are.
    """
    columns = _columns(_rows(result, name))
    library = _library(kind)
    if library.__name__ == "polars":
        return library.DataFrame(columns, strict=False)
    if library.__name__ == "pyarrow":
        return library.table(columns)
    made = library.DataFrame(columns)
    for key, values in columns.items():
        known = [value for value in values if value is not None]
        if len(known) < len(values) and known and all(type(value) is int for value in known):
            made[key] = library.array(values, dtype="Int64")
    return made
