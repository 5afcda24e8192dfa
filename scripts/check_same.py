# SPDX-License-Identifier: MIT
"""Compares the numbers of two folders of answers, for scripts/check-same.sh.

    check_same.py BASE NEW

JSON is compared value by value under its path: keys, numbers, true, false and null must be equal,
of strings it is only counted how many differ. Other text is compared by the numbers in it, in their
order. What is in one folder alone differs. Status 1 when anything but words differs.
"""
import json
import re
import sys
from pathlib import Path

SHOWN = 5  # differences of one file that are printed
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def flatten(value, path=""):
    """Pairs of path and value, of all that is neither an object nor a list."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flatten(inner, f"{path}.{key}")
    elif isinstance(value, list):
        yield f"{path}.length", len(value)
        for i, inner in enumerate(value):
            yield from flatten(inner, f"{path}[{i}]")
    else:
        yield path, value


def values_of(text):
    """The same form for JSON, for JSON line by line, and for any other text."""
    if text.lstrip().startswith(("{", "[")):
        documents = []
        try:
            documents = json.loads(text)
        except json.JSONDecodeError:  # a document a line
            documents = [json.loads(line) for line in text.splitlines() if line.strip()]
        return dict(flatten(documents))
    return {f"number {i}": float(n) for i, n in enumerate(NUMBER.findall(text))} | {"words": text}


def compare(base, new):
    """Lines that say what differs, and how many strings do."""
    lines, words = [], 0
    for path in sorted(base.keys() | new.keys()):
        a, b = base.get(path, "nothing"), new.get(path, "nothing")
        if a == b and type(a) is type(b):
            continue
        if path in base and path in new and isinstance(a, str) and isinstance(b, str):
            words += 1
            # Numbers within a sentence count, too.
            if NUMBER.findall(a) == NUMBER.findall(b) or path == "words":
                continue
            lines.append(f"{path.lstrip('.')}: numbers in {a[:60]!r}, {b[:60]!r}")
            continue
        lines.append(f"{path.lstrip('.')}: {a!r:.60} became {b!r:.60}")
    return lines, words


def main():
    base, new = Path(sys.argv[1]), Path(sys.argv[2])
    names = sorted({str(p.relative_to(d)) for d in (base, new) for p in d.rglob("*") if p.is_file()})
    numbers = words = files = failed = 0
    for name in names:
        if name.endswith(".stderr"):
            continue
        if not ((base / name).exists() and (new / name).exists()):
            print(f"{name}: only of {'base' if (base / name).exists() else 'this tree'}")
            numbers += 1
            continue
        files += not name.endswith(".status")
        texts = [(d / name).read_text(errors="replace") for d in (base, new)]
        failed += name.endswith(".status") and texts[1].split() not in (["status", "0"], ["status", "4"])
        if texts[0] == texts[1]:
            continue
        lines, differ = compare(values_of(texts[0]), values_of(texts[1]))
        words += differ
        numbers += len(lines)
        for line in lines[:SHOWN]:
            print(f"{name}: {line}")
        if len(lines) > SHOWN:
            print(f"{name}: {len(lines) - SHOWN} more")
    print(f"check-same: {files} answers, {numbers} numbers differ, {words} texts do; {failed} questions have no answer")
    return numbers > 0 or files == 0


sys.exit(main())
