"""Tables in CSV files, compressed when their names end in .gz. The same rows are the same bytes."""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from belated.errors import Unreadable


def format_digits(value: float, digits: int) -> str:
    """A number in so many significant digits; an empty field for NaN."""
    return "" if math.isnan(value) else format(value, f".{digits}g")


def write_csv(path: Path, titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A line of titles and the rows under it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    content = text.getvalue().encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    # mtime=0: neither the time nor the name goes into the file.
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


@dataclass(frozen=True)
class CsvRow:
    """One line of a file, read field by field."""

    path: Path
    line: int
    fields: Mapping[str, str]

    def make_error(self, why: str) -> Unreadable:
        return Unreadable(f"{self.path}, line {self.line}: {why}")

    def parse_text(self, name: str) -> str:
        if not self.fields[name]:
            raise self.make_error(f"{name} is empty")
        return self.fields[name]

    def parse_integer(self, name: str) -> int:
        try:
            return int(self.fields[name])
        except ValueError:
            raise self.make_error(f"{name} must be a whole number (got {self.fields[name]!r})") from None

    def parse_number(self, name: str) -> float:
        try:
            value = float(self.fields[name])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.make_error(f"{name} must be a finite number (got {self.fields[name]!r})")
        return value

    def parse_optional_integer(self, name: str) -> int | None:
        """None when the field is empty."""
        return self.parse_integer(name) if self.fields[name] else None

    def parse_optional_number(self, name: str) -> float:
        """NaN when the field is empty."""
        return self.parse_number(name) if self.fields[name] else math.nan


def read_csv(path: Path, titles: Sequence[str]) -> Iterator[CsvRow]:
    """The rows of a file, compressed or not; its first line must be `titles`."""
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise Unreadable(f"{path} cannot be read: {error}") from error
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        first = next(lines, [])
        if first != list(titles):
            raise Unreadable(f"{path} must begin with the line {','.join(titles)} (got {','.join(first)[:100]!r})")
        for fields in lines:
            if len(fields) != len(titles):
                raise Unreadable(f"{path}, line {lines.line_num}: {len(titles)} fields expected, {len(fields)} found")
            yield CsvRow(path, lines.line_num, dict(zip(titles, fields, strict=True)))
    except csv.Error as error:
        raise Unreadable(f"{path}, line {lines.line_num}: {error}") from None
