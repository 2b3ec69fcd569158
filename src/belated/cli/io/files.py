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
class Record:
    """One row of a file."""

    line: int
    cells: Mapping[str, Any]  # of a CSV only text, and only what is not empty


class Faults:
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


def text_of(path: Path) -> str:
    """A file's text, which must be UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} must be UTF-8 text (byte {error.start + 1} is not)") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InvalidInput(f"{path} cannot be read ({getattr(error, 'strerror', None) or error})") from None


def toml_of(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text_of(path))
    except RecursionError:
        raise InvalidInput(f"{path} is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path} is not TOML: {error}") from None
    except InvalidInput:
        raise
    except ValueError:  # an integer of 5000 digits
        raise InvalidInput(f"{path} holds a number that is too long") from None


def csv_of(
    path: Path, faults: Faults, *, required: Iterable[str] = (), known: Iterable[str] | None = None
) -> list[Record]:
    """The rows of a CSV under its first line, which names the columns: some are required, others may not be known."""
    reader = csv.reader(io.StringIO(text_of(path), newline=""), strict=True)
    records: list[Record] = []
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
            titles = _titles(path, line, row, required, known)
            continue
        with faults.at(line):
            if len(row) != len(titles):
                raise InvalidInput(f"there must be {len(titles)} cells (got {len(row)})")
            records.append(Record(line, {name: cell for name, cell in zip(titles, row, strict=True) if cell.strip()}))
    if titles is None:
        raise InvalidInput(f"{path} must begin with a line that names its columns (it is empty)")
    return records


def _titles(path: Path, line: int, row: list[str], required: Iterable[str], known: Iterable[str] | None) -> list[str]:
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


def json_lines_of(path: Path, faults: Faults) -> list[Record]:
    """The objects of a file with one to a line."""
    records = []
    for line, text in enumerate(text_of(path).split("\n"), start=1):
        if not text.strip():
            continue
        with faults.at(line):
            given = json_of(text)
            if not isinstance(given, dict):
                raise InvalidInput(f"a line must be a JSON object (got {shown(given)})")
            records.append(Record(line, given))
    return records


def json_of(text: str) -> Any:
    """What a JSON text says, if it says it once and in finite numbers."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_constant, parse_float=_finite)
    except RecursionError:
        raise InvalidInput("this JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"this is not JSON ({error})") from None
    except InvalidInput:
        raise
    except ValueError:  # an integer of 5000 digits
        raise InvalidInput("a number is too long") from None


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in members:
        if name in found:
            raise InvalidInput(f"keys must differ (got {shown(name)} twice)")
        found[name] = value
    return found


def _constant(text: str) -> NoReturn:
    raise InvalidInput(f"numbers must be finite (got {text})")


def _finite(text: str) -> float:
    x = float(text)
    if not math.isfinite(x):
        raise InvalidInput(f"numbers must be finite (got {text if len(text) < 40 else text[:37] + '...'})")
    return x


def written(path: Path, pieces: Iterator[str]) -> None:
    """Write a file completely or not at all."""
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InvalidInput(f"--out must be a file that can be written (got {path}: {error.strerror})") from None
