"""The table of what was measured: a section for each world, a line for each entrant and size, and how it grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.scale.kept import ENTRANTS, ScaleRow
from benchmarks.scale.worlds import WORLDS
from benchmarks.speed import slope
from benchmarks.table import align_numbers, numbers, sections

COLUMNS = (
    "ask ms",
    "amortised ms",
    "ask in bulk ms",
    "tell ms",
    "tell in bulk ms",
    "add in bulk ms",
    "first ask s",
    "refit s",
    "centres",
    "open s",
    "reopen s",
    "open MiB",
    "ask MiB",
)
GROWING = ("ask ms", "amortised ms", "tell ms", "tell in bulk ms", "first ask s", "open s", "reopen s", "ask MiB")
TITLES = {  # of the worlds, in a page
    "60 cells": "a list of 60",
    "3 x 1,000 items": "3 contexts × 1,000 items",
    "d = 6": "six coordinates",
    "d = 4 + context": "four and a continuous context",
}
SHARE = 10  # a fit is due when the trials have grown by a tenth


@dataclass(frozen=True)
class ScaleLine:
    """A line of the table; `words` say what is missing, and why."""

    section: str
    subject: str
    cells: Mapping[str, float]
    words: str = ""


def list_lines(rows: Sequence[ScaleRow]) -> list[ScaleLine]:
    """The numbers of each world, entrant and size, and after each entrant its exponents."""
    lines = []
    for world in WORLDS:
        for entrant in ENTRANTS:
            sizes = sorted({row.n for row in rows if (row.world, row.entrant) == (world, entrant)})
            found: dict[int, dict[str, float]] = {}
            for n in sizes:
                own = [row for row in rows if (row.world, row.n, row.entrant) == (world, n, entrant)]
                found[n] = add_amortised({row.measure: row.value for row in own if row.reached}, n)
                words = "; ".join(dict.fromkeys(row.note for row in own if row.note))
                cells = {column: found[n][column] for column in COLUMNS if column in found[n]}
                lines.append(ScaleLine(world, f"{entrant}, {n:,}", cells, words))
            if growth := find_exponents(found):
                lines.append(ScaleLine(world, f"{entrant}: exponent of n", growth))
    return lines


def add_amortised(cells: Mapping[str, float], n: int) -> dict[str, float]:
    """An ask with its share of the next fit and of the ask after it, which computes the belief again."""
    if not {"ask ms", "first ask s", "refit s"} <= set(cells):
        return dict(cells)
    due = 1e3 * (cells["refit s"] + cells["first ask s"])
    return {**cells, "amortised ms": cells["ask ms"] + due / max(1, n // SHARE)}


def find_exponents(found: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
    """p of cost ~ n^p, over the sizes that were reached, where there are two."""
    exponents = {}
    for measure in GROWING:
        sizes = [n for n, cells in found.items() if cells.get(measure, 0.0) > 0.0]
        if len(sizes) > 1:
            exponents[measure] = slope(sizes, [found[n][measure] for n in sizes])
    return exponents


def format_table(lines: Sequence[ScaleLine]) -> str:
    """The lines in aligned columns, section by section."""
    parts = []
    for section, some, columns in sections(lines):
        columns = [column for column in COLUMNS if column in columns]
        grid = [[section, *columns, ""]]
        grid += [[line.subject, *numbers(line, columns), line.words] for line in some]
        parts.append("\n".join(align_numbers(grid, words=1)))
    return "\n\n".join(parts)


def format_markdown(rows: Sequence[ScaleRow]) -> str:
    """CPU milliseconds of an ask, with its share of fits, as the pages have them: by size, and how they grow."""
    sizes = sorted({row.n for row in rows})
    out = ["| | " + " | ".join(f"n = {n:,}" for n in sizes) + " | grows as |", "|---" * (len(sizes) + 2) + "|"]
    lines = {(line.section, line.subject): line for line in list_lines(rows)}
    for world in WORLDS:
        for entrant in ENTRANTS:
            found = [lines.get((world, f"{entrant}, {n:,}")) for n in sizes]
            if any(found):
                growth = lines.get((world, f"{entrant}: exponent of n"))
                cells = [*map(_format_cell, found), _format_growth(growth)]
                out.append(f"| {TITLES.get(world, world)}: {entrant} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def _format_cell(line: ScaleLine | None) -> str:
    if line is None:
        return "–"
    return numbers(line, ["amortised ms"])[0] or line.words.removeprefix("ask: ") or "–"


def _format_growth(line: ScaleLine | None) -> str:
    exponent = None if line is None else line.cells.get("amortised ms")
    return "" if exponent is None else f"n^{exponent:.2f}".replace("-", "−")
