# SPDX-License-Identifier: MIT
"""Marks of the running program in its trace (docs/markers.md); without effect where nothing is recorded."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator, Optional

_functions: Dict[str, Optional[Callable[..., Any]]] = {}


def _call(function: str, *texts: Optional[str]) -> None:
    """Calls what libspecter.so exports, which is in the process when it is preloaded."""
    if function not in _functions:
        import ctypes
        found = getattr(ctypes.CDLL(None), function, None)
        if found is not None:
            found.argtypes, found.restype = [ctypes.c_char_p] * len(texts), None
        _functions[function] = found
    call = _functions[function]
    if call is not None:
        call(*(None if text is None else text.encode("utf-8") for text in texts))


def mark(name: str) -> None:
    """A moment of this name."""
    _call("specter_mark", name)


def iteration(name: Optional[str] = None) -> None:
    """A training step begins; the next call ends it."""
    _call("specter_iteration", name)


def range_push(name: str) -> None:
    """A range of this thread begins, inside of those that are open."""
    _call("specter_range_push", name)


def range_pop() -> None:
    """The thread's innermost range ends."""
    _call("specter_range_pop")


@contextlib.contextmanager
def span(name: str) -> Iterator[None]:
    """A range around the block: `with specter.span("forward"):`."""
    range_push(name)
    try:
        yield
    finally:
        range_pop()
