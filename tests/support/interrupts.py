"""Ctrl-C at any instruction of belated, outside the learner."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import belated

OURS = str(Path(belated.__file__).parent)
LEARNER = str(Path(belated.__file__).parent / "learner")
Position = tuple[CodeType, int]  # an instruction


class Interrupted(BaseException):
    """As KeyboardInterrupt is, but of this test."""


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(OURS) and not code.co_filename.startswith(LEARNER)


def _trace(call: Callable[[], object], visit: Callable[[Position], None]) -> None:
    """Call, and visit every instruction before it runs."""

    def look(frame: FrameType, event: str, _: Any) -> Any:
        if not _is_ours(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            visit((frame.f_code, frame.f_lasti))
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        call()
    finally:
        sys.settrace(before)


def list_positions(call: Callable[[], object]) -> list[Position]:
    """Every instruction that a call runs, once, in the order of their first time."""
    seen: dict[Position, None] = {}
    _trace(call, lambda position: seen.setdefault(position))
    return list(seen)


def interrupt_at(call: Callable[[], object], position: Position) -> bool:
    """Call, and interrupt it at the first time that it comes to an instruction; False if it never does."""

    def visit(now: Position) -> None:
        if now == position:
            raise Interrupted

    try:
        _trace(call, visit)
    except Interrupted:
        return True
    return False
