# SPDX-License-Identifier: MIT
"""Finds and runs the `specter` program, and turns its exit status into a result or an exception."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import warnings
from typing import Any, List, Mapping, Optional, Sequence, Union

Value = Union[None, bool, int, float, str, "os.PathLike[str]"]
Option = Union[Value, Sequence[Value]]

FAILED, USAGE, INPUT, PARTIAL = 1, 2, 3, 4  # exit statuses of every command
REPEATED = ("straggler", "slow_link", "failed_nic")  # options that a list repeats, because commas are part of a value


class Error(RuntimeError):
    """The message of `specter` when it refused, one line with file and place.

    status: 1 the answer is no (fail_on holds: `result` has the JSON), 2 bad usage, 3 bad or missing input.
    """

    def __init__(self, message: str, status: int, result: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.result = result


class PartialResult(UserWarning):
    """Part of the input was lost (status 4); the message says what, the result holds the rest."""


def find_program() -> str:
    """The path of `specter`: $SPECTER_PROGRAM, else that of the same installation as this module, else by PATH."""
    named = os.environ.get("SPECTER_PROGRAM")
    if named:
        return named
    folder = os.path.dirname(os.path.abspath(__file__))
    for _ in range(5):  # bin/ beside lib/python3.x/site-packages/specter, or beside specter/ itself (pip --target)
        folder = os.path.dirname(folder)
        candidate = os.path.join(folder, "bin", "specter")
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    found = shutil.which("specter")
    if found is None:
        raise Error("no program 'specter' beside this module or in PATH; SPECTER_PROGRAM can name it", INPUT)
    return found


def execute(words: Sequence[str], environment: Optional[Mapping[str, str]] = None) -> "subprocess.CompletedProcess[bytes]":
    """Runs `specter WORDS`, with its output caught."""
    program = find_program()
    try:
        return subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=environment, check=False)
    except OSError as e:
        raise Error(f"cannot run '{program}': {e.strerror}", INPUT) from e


def message_of(done: "subprocess.CompletedProcess[bytes]", words: Sequence[str]) -> str:
    text = done.stderr.decode("utf-8", "replace").strip()
    if not text:
        return f"specter {' '.join(words[:1])} ended with status {done.returncode}"
    return text[len("specter: "):] if text.startswith("specter: ") and "\n" not in text else text


def answer(words: Sequence[str]) -> Any:
    """The JSON that `specter WORDS` prints. Status 4 is a warning, any other than 0 an Error."""
    done = execute(words)
    result = None
    if done.returncode in (0, FAILED, PARTIAL):
        try:
            result = json.loads(done.stdout) if done.stdout.strip() else None
        except ValueError as e:
            raise Error(f"specter {' '.join(words)} printed no JSON: {e}", INPUT) from e
    if done.returncode == PARTIAL and result is not None:
        warnings.warn(message_of(done, words), PartialResult, stacklevel=3)
    elif done.returncode != 0:
        raise Error(message_of(done, words), done.returncode, result)
    return result


def text_of(value: Value) -> str:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def option_words(options: Mapping[str, Option]) -> List[str]:
    """`fail_on="idle>0.3", full=True, scale=[1, 8]` as words of a command line; None and False are left out."""
    words: List[str] = []
    for name, value in options.items():
        word = ("-" if len(name) == 1 else "--") + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(word)
        elif isinstance(value, (str, int, float, os.PathLike)):
            words += [word, text_of(value)]
        elif name in REPEATED:
            for one in value:
                words += [word, text_of(one)]
        else:
            words += [word, ",".join(text_of(one) for one in value)]
    return words


def version() -> str:
    """The version of the `specter` that is run, "0.1.0"; "" where there is none."""
    try:
        first = execute(["--version"]).stdout.decode("utf-8", "replace").split("\n", 1)[0]
    except Error:
        return ""
    return first.split()[-1] if first else ""
