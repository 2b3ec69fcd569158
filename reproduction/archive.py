"""What a report is made of, in one folder: the curves, their costs, and how they were made."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from belated.errors import Unreadable
from reproduction.curves import Curves, read_curves, write_curves
from reproduction.run_costs import RunCost, read_costs, write_costs

CURVES, COSTS, PROVENANCE = "curves.csv.gz", "costs.csv.gz", "provenance.json"
PACKAGES = ("belated", "numpy", "scipy", "scikit-learn", "torch", "matplotlib")


@dataclass(frozen=True)
class Provenance:
    """How the curves were made."""

    commands: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()  # whatever else a reader should know, in sentences

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def join(self, later: Provenance) -> Provenance:
        """What was done here and, later, there."""
        return Provenance(
            tuple(dict.fromkeys([*self.commands, *later.commands])),
            later.versions or self.versions,
            tuple(dict.fromkeys([*self.notes, *later.notes])),
        )

    @classmethod
    def read(cls, path: Path) -> Provenance:
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                tuple(map(str, fields["commands"])),
                tuple((str(a), str(b)) for a, b in fields["versions"]),
                tuple(map(str, fields["notes"])),
            )
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise Unreadable(f"{path} does not say how the curves were made: {error}") from None


def list_versions() -> tuple[tuple[str, str], ...]:
    """Python and the packages that are installed here."""
    versions = [("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            versions.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(versions)


@dataclass(frozen=True, kw_only=True, eq=False)
class Archive:
    """The numbers that a report is made of."""

    curves: Curves
    costs: Sequence[RunCost] = ()
    provenance: Provenance = Provenance()


def write_archive(folder: Path, archive: Archive) -> None:
    """The files that `read_archive` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    write_curves(folder / CURVES, archive.curves)
    write_costs(folder / COSTS, archive.costs)
    archive.provenance.write(folder / PROVENANCE)


def read_archive(place: Path) -> Archive:
    """The curves in a folder, or in a file, with the costs and the provenance that lie beside them."""
    path = place / CURVES if place.is_dir() else place
    costs, provenance = path.with_name(COSTS), path.with_name(PROVENANCE)
    return Archive(
        curves=read_curves(path),
        costs=read_costs(costs) if costs.exists() else [],
        provenance=Provenance.read(provenance) if provenance.exists() else Provenance(),
    )
