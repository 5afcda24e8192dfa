# SPDX-License-Identifier: MIT
"""Reading specter's traces for the GPU checks: plain JSON Lines, later lines replace earlier ones."""

import glob
import json
import os


def read(folder):
    """All records of a folder, as (process records by file name)."""
    files = {}
    for path in sorted(glob.glob(os.path.join(folder, "specter_trace_*.jsonl"))):
        with open(path, encoding="utf-8") as lines:
            files[os.path.basename(path)] = [json.loads(line) for line in lines if line.startswith("{")]
    return files


def operations(records, *types):
    """Operations of these types, finished or not, one an id, by id."""
    latest = {r["id"]: r for r in records if "id" in r and r.get("type") in types}
    return [latest[i] for i in sorted(latest)]


def shutdown(records):
    """The closing record, or None where the process did not come to its exit."""
    return next((r for r in records if r.get("event") == "shutdown"), None)
