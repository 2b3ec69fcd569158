"""Files that people and other programs write, read strictly: TOML, CSV and JSON lines.

Python's own readers keep the last of two equal keys, take NaN and 1e999, and lose their stack in deep nesting. Here all
of that is refused, in one sentence that says where.
"""

from __future__ import annotations

import csv
import io
import json
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from belated.errors import BelatedError, Closed, InvalidInput
from belated.validation import listed, shown

FAULTS_SHOWN = 20


@dataclass(frozen=True)
class FileRow:
    """One row of a file."""

    line: int
    cells: Mapping[str, Any]  # of a CSV only text, and only what is not empty


class LineErrors:
    """What is wrong with the lines of a file, gathered: nothing of it is taken when there is any."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: list[tuple[int, str]] = []

    @contextmanager
    def at(self, line: int) -> Iterator[None]:
        """Gather what is refused in here. That the study is closed is no fault of a line's."""
        try:
            yield
        except Closed:
            raise
        except BelatedError as error:
            self._found.append((line, str(error)))

    def refuse(self) -> None:
        """Name every line that is wrong."""
        if not self._found:
            return
        lines = [f"  {self.path}:{line}: {sentence}" for line, sentence in sorted(self._found)]
        if len(lines) > FAULTS_SHOWN:
            lines[FAULTS_SHOWN:] = [f"  ... and {len(lines) - FAULTS_SHOWN} more"]
        what = "a line is" if len(self._found) == 1 else f"{len(self._found)} lines are"
        raise InvalidInput("\n".join([f"nothing was recorded: {what} wrong", *lines]))


def read_text(path: Path) -> str:
    """A file's text, which must be UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} must be UTF-8 text (byte {error.start + 1} is not)") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InvalidInput(f"{path} cannot be read ({getattr(error, 'strerror', None) or error})") from None


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


def read_csv(
    path: Path, faults: LineErrors, *, required: Iterable[str] = (), known: Iterable[str] | None = None
) -> list[FileRow]:
    """The rows of a CSV under its first line, which names the columns: some are required, others may not be known."""
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    records: list[FileRow] = []
    titles: list[str] | None = None
    last = 0
    while True:
        line = last + 1
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            raise InvalidInput(f"{path}:{line}: this is not CSV ({error})") from None
        last = reader.line_num
        if not any(cell.strip() for cell in row):
            continue
        if titles is None:
            titles = _check_titles(path, line, row, required, known)
            continue
        with faults.at(line):
            if len(row) != len(titles):
                raise InvalidInput(f"there must be {len(titles)} cells (got {len(row)})")
            records.append(FileRow(line, {name: cell for name, cell in zip(titles, row, strict=True) if cell.strip()}))
    if titles is None:
        raise InvalidInput(f"{path} must begin with a line that names its columns (it is empty)")
    return records


def _check_titles(
    path: Path, line: int, row: list[str], required: Iterable[str], known: Iterable[str] | None
) -> list[str]:
    titles = [cell.strip() for cell in row]
    hint = "; cells are separated by commas" if len(titles) == 1 and (";" in row[0] or "\t" in row[0]) else ""
    for i, name in enumerate(titles):
        if not name:
            raise InvalidInput(f"{path}:{line}: column {i + 1} must have a name")
        if name in titles[:i]:
            raise InvalidInput(f"{path}:{line}: columns must differ (got {shown(name)} twice)")
    missing = [name for name in required if not any(one in titles for one in name.split("|"))]
    if missing:
        wanted = " and ".join(name.replace("|", " or ") for name in missing)
        raise InvalidInput(f"{path}:{line}: there must be a column {wanted} (got {listed(titles)}){hint}")
    columns = titles if known is None else list(known)
    for name in titles:
        if name not in columns:
            there = f"there is no column {shown(name)} to be read here (there are {listed(columns)})"
            raise InvalidInput(f"{path}:{line}: {there}{hint}")
    return titles


def read_json_lines(path: Path, faults: LineErrors) -> list[FileRow]:
    """The objects of a file with one to a line."""
    records = []
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        with faults.at(line):
            given = parse_json(text)
            if not isinstance(given, dict):
                raise InvalidInput(f"a line must be a JSON object (got {shown(given)})")
            records.append(FileRow(line, given))
    return records


def parse_json(text: str) -> Any:
    """What a JSON text says, if it says it once and in finite numbers."""
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
            raise InvalidInput(f"keys must differ (got {shown(name)} twice)")
        found[name] = value
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise InvalidInput(f"numbers must be finite (got {text})")


def _parse_finite(text: str) -> float:
    x = float(text)
    if not math.isfinite(x):
        raise InvalidInput(f"numbers must be finite (got {text if len(text) < 40 else text[:37] + '...'})")
    return x


def write_file(path: Path, pieces: Iterator[str]) -> None:
    """Write a file completely or not at all."""
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InvalidInput(f"--out must be a file that can be written (got {path}: {error.strerror})") from None
