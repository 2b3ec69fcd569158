"""What a report is made of, kept in a folder: the curves, what they cost, and how they were made."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from belated.errors import Unreadable
from reproduction import curves as files
from reproduction.curves import Cost, Curves

CURVES, COSTS, MADE = "curves.csv.gz", "costs.csv.gz", "made.json"
PACKAGES = ("belated", "numpy", "scipy", "scikit-learn", "torch", "matplotlib")


@dataclass(frozen=True)
class Made:
    """How the curves were made; kept with them."""

    commands: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()  # what else is to be known of it, in sentences

    @classmethod
    def here(cls, *commands: str) -> Made:
        """By these commands, with what is installed here."""
        found = [("Python", platform.python_version())]
        for name in PACKAGES:
            try:
                found.append((name, version(name)))
            except PackageNotFoundError:
                continue
        return cls(commands, tuple(found))

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Made:
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                tuple(map(str, said["commands"])),
                tuple((str(a), str(b)) for a, b in said["versions"]),
                tuple(map(str, said["notes"])),
            )
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise Unreadable(f"{path} does not say how the curves were made: {error}") from None


def keep(folder: Path, curves: Curves, costs: Iterable[Cost], made: Made) -> list[Path]:
    """What the report is made of, for `kept`."""
    folder.mkdir(parents=True, exist_ok=True)
    files.write(folder / CURVES, curves)
    files.write_costs(folder / COSTS, costs)
    made.write(folder / MADE)
    return [folder / CURVES, folder / COSTS, folder / MADE]


def kept(place: Path) -> tuple[Curves, list[Cost], Made]:
    """The curves of a folder, or of a file, and the costs and the making of them where they lie beside."""
    path = place / CURVES if place.is_dir() else place
    costs, made = path.with_name(COSTS), path.with_name(MADE)
    return (
        files.read(path),
        files.read_costs(costs) if costs.exists() else [],
        Made.read(made) if made.exists() else Made(),
    )
