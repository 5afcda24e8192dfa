# SPDX-License-Identifier: MIT
"""Answers of the `specter` command as Python objects (docs/python.md).

    import specter

    with specter.capture(output="traces"):
        subprocess.run(["torchrun", "train.py"], check=True)
    run = specter.analyze("traces")
    run["step_time"]["us"]
    specter.frame(run, "ranks")              # pandas, polars or pyarrow

Each function runs the command of its name with --json and returns what that prints. Keywords are the command's
options: `fail_on="idle>0.3"` is --fail-on 'idle>0.3', `full=True` is --full, a list is joined by commas.
"""
from __future__ import annotations

from .commands import analyze, compare, metrics, predict, replay, run, sweep
from .frames import frame, tables
from .marks import iteration, mark, range_pop, range_push, span
from .program import Error, PartialResult, find_program, version
from .recording import capture

__all__ = [
    "Error", "PartialResult", "analyze", "capture", "compare", "find_program", "frame", "iteration", "mark", "metrics",
    "predict", "range_pop", "range_push", "replay", "run", "span", "sweep", "tables", "version",
]


def __getattr__(name: str) -> str:
    if name == "__version__":  # asked of the program, so that an import starts none
        return version()
    raise AttributeError(f"module 'specter' has no attribute '{name}'")
