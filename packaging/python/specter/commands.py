# SPDX-License-Identifier: MIT
"""The commands that have a JSON result, each as a function of its name."""
from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .program import Option, answer, option_words, text_of

Json = Dict[str, Any]
Path = Union[str, "os.PathLike[str]"]


def run(*words: Union[str, "os.PathLike[str]"], **options: Option) -> Any:
    """The JSON of any command that takes --json FILE: `run("bench", "report", "nccl.log")`, `run("doctor")`."""
    return answer([text_of(word) for word in words] + option_words(options) + ["--json", "-"])


def _of_traces(command: str, traces: Optional[Path], options: Mapping[str, Option]) -> Json:
    result: Json = run(command, *([] if traces is None else [traces]), **options)
    return result


def analyze(traces: Optional[Path] = None, **options: Option) -> Json:
    """`specter analyze`: where the time of a run went. traces: a folder, file or archive; None: as the command."""
    return _of_traces("analyze", traces, options)


def metrics(traces: Optional[Path] = None, **options: Option) -> Json:
    """`specter metrics`: single numbers by name; those that cannot be told have a reason."""
    return _of_traces("metrics", traces, options)


def replay(traces: Optional[Path] = None, **options: Option) -> Json:
    """`specter replay`: the run on other hardware (gpu=, network=) and at other scales (scale=[1, 8])."""
    return _of_traces("replay", traces, options)


def sweep(grid: Union[Path, Mapping[str, Any]], *traces: Path, **options: Option) -> Json:
    """`specter sweep`: each point of a grid; `grid` is a JSON file or what such a file holds."""
    if not isinstance(grid, Mapping):
        result: Json = run("sweep", grid, *traces, **options)
        return result
    with tempfile.TemporaryDirectory(prefix="specter-grid-") as folder:
        path = os.path.join(folder, "grid.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(grid, file)
        return sweep(path, *traces, **options)


def predict(kind: str, **options: Option) -> List[Json]:
    """`specter predict KIND`: one result an element; a range of sizes or a list of ranks makes several."""
    result = answer(["predict", kind] + option_words(options) + ["--json"])
    return result if isinstance(result, list) else [result]


def compare(base: Union[Path, Sequence[Path]], *tests: Union[Path, Sequence[Path]], **options: Option) -> Json:
    """`specter compare`: what differs between runs, and whether it is noise. A list is one side's repeats."""
    sides = [text_of(s) if isinstance(s, (str, os.PathLike)) else ",".join(text_of(p) for p in s)
             for s in (base, *tests)]
    result: Json = run("compare", *sides, **options)
    return result
