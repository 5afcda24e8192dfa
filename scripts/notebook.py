#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs docs/notebook.ipynb in the root of the repository.

    scripts/notebook.py --check    compares what its cells print with what it holds; status 1 when that differs
    scripts/notebook.py --renew    puts it there

Needs nbclient and ipykernel (packaging/python/tools.txt), and SPECTER_PROGRAM and PYTHONPATH for the module.
"""
import difflib
import os
import sys

import nbformat
from nbclient import NotebookClient

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATH = os.path.join(ROOT, "docs", "notebook.ipynb")


def printed(notebook):
    """Returns the lines that the code cells print."""
    lines = []
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            lines += [f"cell {number}: {line}" for line in output.get("text", str(output)).splitlines()]
    return lines


def main():
    if sys.argv[1:] not in (["--check"], ["--renew"]):
        sys.exit(__doc__)
    notebook = nbformat.read(PATH, as_version=4)
    held = printed(notebook)
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": ROOT}}).execute()
    if sys.argv[1] == "--renew":
        for cell in notebook.cells:
            cell.metadata.clear()
        notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
        nbformat.write(notebook, PATH)
        return 0
    difference = list(difflib.unified_diff(held, printed(notebook), "docs/notebook.ipynb", "run", lineterm=""))
    print("\n".join(difference), end="\n" if difference else "")
    return 1 if difference or len(held) < 10 else 0


sys.exit(main())
