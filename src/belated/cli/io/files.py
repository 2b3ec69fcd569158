"""TOML and JSON lines, read strictly; and how files are written.

Python's own readers keep the last of two equal keys, accept NaN and 1e999, and fail in deep nesting. Here all of that
is refused, in one sentence that says where.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from belated.errors import BelatedError, Closed, InvalidInput
from belated.validation import format_value

ERRORS_SHOWN = 20


@dataclass(frozen=True)
class FileRow:
    """One row of a CSV, or one object of JSON lines."""

    line: int
    cells: Mapping[str, Any]  # of a CSV: text, without the empty cells
    extra: Mapping[str, str] = field(default_factory=dict)  # cells of columns that mean nothing here, by title


class LineErrors:
    """What is wrong with the lines of a file, or with other things that have numbers and a name in common.

    If anything is, nothing of it is recorded."""

    def __init__(self, source: Path | str) -> None:
        self.source = source
        self._found: list[tuple[int, str]] = []

    @contextmanager
    def collect(self, line: int) -> Iterator[None]:
        """Collect what is refused in this block. A closed study is not an error of a line: it is raised at once."""
        try:
            yield
        except Closed:
            raise
        except BelatedError as error:
            self._found.append((line, str(error)))

    def refuse(self) -> None:
        """Raise one error that names every wrong line, if there is any."""
        if not self._found:
            return
        cut = find_cut_line(self.source) if isinstance(self.source, Path) and self.source.suffix != ".xlsx" else None
        hints = {cut: "; this last line has no newline: the file may be cut off"}
        lines = [f"  {self.source}:{line}: {sentence}{hints.get(line, '')}" for line, sentence in sorted(self._found)]
        if len(lines) > ERRORS_SHOWN:
            lines[ERRORS_SHOWN:] = [f"  ... and {len(lines) - ERRORS_SHOWN} more"]
        what = "a line is" if len(self._found) == 1 else f"{len(self._found)} lines are"
        raise InvalidInput("\n".join([f"nothing was recorded: {what} wrong", *lines]))


def check_path(path: Path) -> None:
    """Refuse a name that a message could not show on one line."""
    if not str(path).isprintable():
        raise InvalidInput(f"the name of a file must be printable (got {format_value(str(path))})")


def read_text(path: Path) -> str:
    """The text of a UTF-8 file."""
    check_path(path)
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        remedy = "; save it as CSV UTF-8" if path.suffix.lower() == ".csv" else ""
        raise InvalidInput(f"{path} must be UTF-8 text (byte {error.start + 1} is not){remedy}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InvalidInput(f"{path} cannot be read ({getattr(error, 'strerror', None) or error})") from None


def find_cut_line(path: Path) -> int | None:
    """The number of the last line, if it has no newline at its end: such a file may be cut off."""
    try:
        with path.open("rb") as file:
            whole = file.seek(0, os.SEEK_END) == 0 or (file.seek(-1, os.SEEK_END), file.read())[1] in (b"\n", b"\r")
    except (OSError, ValueError):
        whole = False  # read_text says what is wrong
    return None if whole else read_text(path).count("\n") + 1


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except RecursionError:
        raise InvalidInput(f"{path} is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path} is not TOML: {error}") from None
    except InvalidInput:
        raise
    except ValueError:  # an integer of 5000 digits
        raise InvalidInput(f"{path} holds a number that is too long") from None


def read_json_lines(path: Path, errors: LineErrors) -> Iterator[FileRow]:
    """The objects of a file with one JSON object per line, each as it is asked for."""
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        with errors.collect(line):
            given = parse_json(text)
            if not isinstance(given, dict):
                raise InvalidInput(f"a line must be a JSON object (got {format_value(given)})")
            yield FileRow(line, given)


def parse_json(text: str) -> Any:
    """The value of a JSON text without repeated keys and with finite numbers only."""
    try:
        return json.loads(
            text, object_pairs_hook=_refuse_repeats, parse_constant=_refuse_constant, parse_float=_parse_finite
        )
    except RecursionError:
        raise InvalidInput("this JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"this is not JSON ({error})") from None
    except InvalidInput:
        raise
    except ValueError:  # an integer of 5000 digits
        raise InvalidInput("a number is too long") from None


def _refuse_repeats(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in members:
        if name in found:
            raise InvalidInput(f"keys must differ (got {format_value(name)} twice)")
        found[name] = value
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise InvalidInput(f"numbers must be finite (got {text})")


def _parse_finite(text: str) -> float:
    x = float(text)
    if not math.isfinite(x):
        raise InvalidInput(f"numbers must be finite (got {text if len(text) < 40 else text[:37] + '...'})")
    return x


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """A new file to write, which then takes the place of `path`; or nothing, if something goes wrong.

    No link is followed: one at `path` is replaced, and the new file has a name that nobody could prepare one under."""
    check_path(path)
    beside = path.parent / f".{secrets.token_hex(8)}{path.suffix}"
    try:
        if path.exists() and not path.is_file():
            raise InvalidInput(f"--out must be a file that can be written (got {path}: it is not a regular file)")
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        try:
            yield beside
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        if isinstance(error, BelatedError):
            raise
        raise InvalidInput(f"--out must be a file that can be written (got {path}: {error.strerror})") from None


def write_file(path: Path, pieces: Iterator[str]) -> None:
    """Write a file completely or not at all."""
    with replace_file(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        file.writelines(pieces)
