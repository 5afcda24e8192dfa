# SPDX-License-Identifier: MIT
"""Reading specter's traces for the GPU checks: plain JSON Lines, later lines replace earlier ones."""

import glob
import json
import os


def read(folder):
    """The records of each process, by file name. A last line that was cut off is passed over."""
    files = {}
    for path in sorted(glob.glob(os.path.join(folder, "specter_trace_*.jsonl"))):
        with open(path, encoding="utf-8") as lines:
            files[os.path.basename(path)] = list(records(lines))
    return files


def records(lines):
    for line in lines:
        if line.startswith("{") and line.endswith("\n"):
            yield json.loads(line)


def operations(records, *types):
    """Operations of these types, finished or not, one an id, by id."""
    latest = {r["id"]: r for r in records if "id" in r and r.get("type") in types}
    return [latest[i] for i in sorted(latest)]


def event(records, name):
    """The first record of an event, or None: init; shutdown, where the process came to its exit."""
    return next((r for r in records if r.get("event") == name), None)


def shutdown(records):
    """The closing record, or None where the process did not come to its exit."""
    return event(records, "shutdown")


def communicators(records):
    """Number of each communicator of a process, in the order in which they were made, by identity."""
    found = {}
    for record in records:
        if record.get("event") == "comm":
            found.setdefault(record["comm"], len(found))
    return found
