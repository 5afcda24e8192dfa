#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints how the code of src/ and tracer/ is cut, as a table of figures with their limits.

    scripts/structure.py [--list FIGURE] [ROOT]

Reads the text of C files as clang-format lays it out: a function begins in column 0 and its body is between `{` and `}` in
column 0. --list names what a figure counts. Status 0 whatever the figures are.
"""
import collections
import glob
import os
import re
import statistics
import sys

WORD = re.compile(r"[A-Za-z_]\w*")
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "__attribute__"}


class Function:
    def __init__(self, path, name, static, parameters, lines, words):
        self.path, self.name, self.static = path, name, static
        self.parameters, self.lines, self.words = parameters, lines, words


def without_comments(text):
    """The text with comments and strings blank, line for line."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def parameters_of(signature):
    """Counts them by the commas behind the name that are in no inner parentheses."""
    inner = signature[signature.index("(") + 1:signature.rindex(")")]
    depth, count = 0, 1
    for c in inner:
        depth += (c in "([") - (c in ")]")
        count += c == "," and depth == 0
    return 0 if inner.strip() in ("", "void") else count


def functions_of(path, text):
    lines = text.split("\n")
    start = 0  # of what may be a signature
    body = None
    for i, line in enumerate(lines):
        if body is not None:
            if line.startswith("}"):
                signature = " ".join(lines[start:body])
                names = [w for w in re.findall(r"([A-Za-z_]\w*)\s*\(", signature) if w not in KEYWORDS]
                if names and "=" not in signature and not line.startswith("};"):
                    yield Function(path, names[0], bool(re.search(r"\bstatic\b", signature)), parameters_of(signature),
                                   i - body + 1, set(WORD.findall("\n".join(lines[body:i]))))
                body, start = None, i + 1
        elif line == "{":
            body = i
        elif line.strip() == "" or line.startswith("#") or line.endswith(";") or line.startswith("}"):
            start = i + 1


def definitions(texts, pattern):
    """Names that the pattern finds, with the files that they are in."""
    found = collections.defaultdict(set)
    for path, text in texts.items():
        for name in re.findall(pattern, text, re.M):
            found[name].add(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def enumerators(texts):
    found = collections.defaultdict(set)
    for path, text in texts.items():
        for n, body in enumerate(re.findall(r"\benum(?:\s+\w+)?\s*\{([^}]*)\}", text)):
            for item in body.split(","):
                name = WORD.match(item.strip())
                if name and "#" not in item and name[0].isupper():
                    found[name[0]].add((path, n))
    return {name: {p for p, _ in where} for name, where in found.items() if len(where) > 1}


def figures(root):
    paths = [p for d in ("src", "tracer") for p in glob.glob(os.path.join(root, d, "**", "*.[ch]"), recursive=True)]
    texts = {os.path.relpath(p, root): without_comments(open(p).read()) for p in paths}
    words = {p: set(WORD.findall(t)) for p, t in texts.items()}
    functions = [f for p, t in texts.items() for f in functions_of(p, t)]
    sources = [p for p in texts if p.endswith(".c")]
    public = [f for f in functions if not f.static and f.path.endswith(".c")]
    helpers = [f for f in functions if f.static and f.path.endswith(".c")]
    by_file = collections.defaultdict(list)
    for f in functions:
        by_file[f.path].append(f)
    one_user = [f for f in public if sum(f.name in words[p] for p in sources if p != f.path) == 1]
    one_caller = [f for f in helpers if sum(f.name in g.words for g in by_file[f.path] if g is not f) == 1]
    headers = [p for p in texts if p.endswith(".h")]
    tags = definitions(texts, r"^\s*(?:static )?struct (\w+) \{")
    shared = enumerators(texts)
    many = [f for f in functions if f.parameters > 6]
    long = [f for f in functions if f.lines > 70]

    def share(part, whole):
        return f"{100 * len(part) / max(len(whole), 1):.0f} %"

    def names(list_):
        return sorted(f"{f.path}: {f.name}" for f in list_)

    return [
        ("one-user", "public functions with one user file", share(one_user, public), "38 %", names(one_user)),
        ("one-caller", "helpers with one caller", share(one_caller, helpers), "61 %", names(one_caller)),
        ("headers", "headers", len(headers), 200, sorted(headers)),
        ("tags", "struct tags defined in several files", len(tags), 10, sorted(f"{n}: {' '.join(sorted(p))}" for n, p in tags.items())),
        ("enumerators", "enumerators of several enums", len(shared), 0, sorted(f"{n}: {' '.join(sorted(p))}" for n, p in shared.items())),
        ("parameters", "functions with more than six parameters", len(many), 20, names(many)),
        ("median", "lines of the median function", f"{statistics.median(f.lines for f in functions):.0f}", "9 to 18", []),
        ("long", "functions of more than 70 lines", len(long), 0, names(long)),
        ("lines", "lines of src and tracer", sum(open(os.path.join(root, p)).read().count("\n") for p in texts), "", []),
    ]


def main():
    args = sys.argv[1:]
    listed = None
    if args[:1] == ["--list"] and len(args) > 1:
        listed, args = args[1], args[2:]
    rows = figures(args[0] if args else os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if listed is not None:
        for key, _, _, _, names in rows:
            if key == listed:
                print("\n".join(names))
        return
    print(f"{'figure':12}  {'':42} {'is':>7}  at most")
    for key, text, value, limit, _ in rows:
        print(f"{key:12}  {text:42} {value!s:>7}  {limit}")


main()
