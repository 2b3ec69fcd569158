"""The outcomes of a CSV file, told all or nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from belated import Study
from belated.cli.io.cells import parse_decimal, parse_integer, parse_time
from belated.cli.io.files import LineErrors, read_csv
from belated.cli.io.rows import list_columns
from belated.cli.io.transaction import apply_at_once
from belated.errors import InvalidInput

ALIASES = {"outcome": "value", "told_at": "at"}  # so that a file of `belated export` can be told


@dataclass(frozen=True, kw_only=True)
class TellCounts:
    """What became of the rows of a file."""

    told: int  # the late ones included
    late: int
    duplicate: int
    empty: int  # rows without a value
    flags: tuple[str, ...]  # outcomes that are worse than the floor


def tell_csv(url: str, name: str, path: Path) -> TellCounts:
    """Tell the outcomes of a CSV with the columns number, value (or outcome), and maybe at (or told_at) and noise."""
    return apply_at_once(url, name, lambda study: _tell_rows(study, path))


def _tell_rows(study: Study, path: Path) -> TellCounts:
    known = ["number", "value", "at", *list_columns(study)]
    counts, flags, errors = Counter[str](), [], LineErrors(path)
    for row in read_csv(path, errors, required=("number", "value|outcome"), known=known):
        with errors.collect(row.line):
            cells = {ALIASES.get(title, title): text for title, text in row.cells.items()}
            if "number" not in cells:
                raise InvalidInput("number is missing")
            number = study.trial(parse_integer(cells["number"], "number")).number
            if "value" not in cells:
                counts["empty"] += 1
                continue
            when = parse_time(cells["at"]) if "at" in cells else None
            sigma = parse_decimal(cells["noise"], "noise") if "noise" in cells else None
            receipt = study.tell(number, parse_decimal(cells["value"]), at=when, noise=sigma)
            counts[receipt.status] += 1
            if receipt.note and receipt.status != "duplicate":
                flags.append(f"trial {number}: {receipt.note}")
    errors.refuse()
    return TellCounts(
        told=counts["heard"] + counts["late"],
        late=counts["late"],
        duplicate=counts["duplicate"],
        empty=counts["empty"],
        flags=tuple(flags),
    )
