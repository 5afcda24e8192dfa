#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Renews the two pictures of README.md: what a terminal shows, and the first screen of the page.

    BUILD=build scripts/pictures.py [FOLDER]

FOLDER: docs/pictures. Of what `make demo` has recorded (`make demo` first): the pictures show what its commands print.
A terminal is a page of the text with its colours, so that both come from one headless Chromium.
"""
import html
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/cli/page"))
sys.dont_write_bytecode = True
from devtools import Browser, find_browser  # noqa: E402

COMMANDS = ("analyze", "replay --gpu a100_sxm --network dgx_a100_200g --scale 1,4,16")
STYLES = {"1": "font-weight:bold;color:#fff", "1;31": "font-weight:bold;color:#ff6b68", "2": "color:#9a9a9a"}
TERMINAL = """<!DOCTYPE html><meta charset="utf-8"><style>
body { margin: 0; background: #1c1c1c } pre { margin: 0; padding: 16px 20px; display: inline-block; color: #d6d6d6;
font: 14px/19px "DejaVu Sans Mono", "Liberation Mono", monospace; font-variant-ligatures: none }</style><pre>%s</pre>"""


def colored(text):
    """The text of a terminal as HTML; a sequence that STYLES lacks is an error, not a picture of escapes."""
    def span(match):
        return "</span>" if match[1] in ("", "0") else f'<span style="{STYLES[match[1]]}">'
    return re.sub(r"\x1b\[([0-9;]*)m", span, html.escape(text, quote=False))


def printed(specter, folder):
    """A session: each command as it is typed, then what it prints on a terminal of 80 columns."""
    env = {**os.environ, "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    env.pop("NO_COLOR", None)
    parts = []
    for command in COMMANDS:
        answer = subprocess.run([specter, *command.split(), "--color", "always"], cwd=folder, env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        parts.append(f"$ \x1b[1mspecter {command}\x1b[0m\n{answer}")
    return "\n".join(parts)


def main():
    build = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
    out = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "docs/pictures"))
    specter, demo = os.path.join(build, "specter"), os.path.join(build, "demo")
    if not os.path.isdir(os.path.join(demo, "traces")):
        sys.exit(f"pictures.py: {demo}/traces is missing: make demo")
    if find_browser() is None:
        sys.exit("pictures.py: no chromium (scripts/setup.sh --ci)")
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, Browser() as browser:
        with open(os.path.join(work, "terminal.html"), "w", encoding="utf-8") as text:
            text.write(TERMINAL % colored(printed(specter, demo)))
        terminal = browser.open(text.name)
        width, height = terminal.run("(() => { const r = document.querySelector('pre').getBoundingClientRect();"
                                     "return [Math.ceil(r.width), Math.ceil(r.height)]; })()")
        browser.open(text.name, width=width, height=height).picture(os.path.join(out, "terminal.png"))
        page = browser.open(os.path.join(demo, "analyze.html"), width=1200, height=1000)
        page.run("document.documentElement.style.overflow = 'hidden'")  # no bar for scrolling
        page.picture(os.path.join(out, "page.png"))


main()
