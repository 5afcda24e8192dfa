# SPDX-License-Identifier: MIT
"""Recording what a block of the program starts."""
from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Type, Union

from .commands import Json, Path, analyze
from .program import Error, Option, execute, message_of, option_words


class capture:  # noqa: N801  # named as the command
    """Subprocesses that start in the block are recorded, all as one run.

        with specter.capture(output="traces", ring=2000) as recording:
            subprocess.run(["torchrun", "train.py"], check=True)
        recording.analyze()["findings"]

    The keywords are the options of `specter capture`. The block changes os.environ as that command changes the
    environment of its program, for every thread, and puts it back; with `env=recording.environment` a subprocess is
    recorded without that: `specter.capture(...).environment`. This process itself is not recorded. Error when the
    command would refuse (no libspecter.so, a folder that cannot be written).
    """

    def __init__(self, output: Optional[Path] = None, **options: Option) -> None:
        words: List[str] = ["capture"]
        words += [] if output is None else ["-o", os.fspath(output)]
        words += option_words(options)
        self._words = words
        self._before: Dict[str, Optional[str]] = {}
        self.environment = self._environment_of_child()
        #: The folder of the traces.
        self.output = self.environment.get("SPECTER_OUTPUT", "traces")

    def _environment_of_child(self) -> Dict[str, str]:
        """Asked of the command itself: what it sets for a program that prints its environment."""
        done = execute(self._words + ["--", "env", "-0"])
        if done.returncode != 0:
            raise Error(message_of(done, self._words), done.returncode)
        pairs = (os.fsdecode(line).partition("=") for line in done.stdout.split(b"\0") if line)
        return {name: value for name, _, value in pairs}

    def __enter__(self) -> "capture":
        for name, value in self.environment.items():
            if os.environ.get(name) != value:
                self._before[name] = os.environ.get(name)
                os.environ[name] = value
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._before.clear()

    def run(self, command: Sequence[Union[str, "os.PathLike[str]"]], **keywords: Any) -> "Any":
        """subprocess.run(command, ...) with the recording's environment."""
        import subprocess
        return subprocess.run(command, env=self.environment, **keywords)

    def analyze(self, **options: Option) -> Json:
        """analyze() of the folder of the traces."""
        return analyze(self.output, **options)
