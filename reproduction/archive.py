"""What a report is made of, in one folder: curves, their costs, how they were made, and what else was measured."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from belated.errors import Unreadable
from reproduction.curves import Curves, read_curves, write_curves
from reproduction.replay_counts import ReplayCount, read_counts, write_counts
from reproduction.run_costs import RunCost, read_costs, write_costs
from reproduction.theory.measurements import Measurement, read_measurements, write_measurements

CURVES, COSTS, PROVENANCE = "curves.csv.gz", "costs.csv.gz", "provenance.json"
MEASUREMENTS, REPLAYED = "theory.csv.gz", "replayed.csv"
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
    measurements: Sequence[Measurement] = ()  # of the experiments in theory/
    replayed: Sequence[ReplayCount] = ()  # of the authors' published queries


def write_archive(folder: Path, archive: Archive) -> None:
    """The files that `read_archive` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    write_curves(folder / CURVES, archive.curves)
    write_costs(folder / COSTS, archive.costs)
    archive.provenance.write(folder / PROVENANCE)
    write_measured(folder, archive)


def write_measured(folder: Path, archive: Archive) -> None:
    """The files of what was measured beside the curves; none for what was not."""
    if archive.measurements:
        write_measurements(folder / MEASUREMENTS, archive.measurements)
    if archive.replayed:
        write_counts(folder / REPLAYED, archive.replayed)


def read_archive(place: Path) -> Archive:
    """The curves in a folder, or in a file, with what lies beside them."""
    path = place / CURVES if place.is_dir() else place
    costs = path.with_name(COSTS)
    return Archive(
        curves=read_curves(path),
        costs=read_costs(costs) if costs.exists() else [],
        provenance=read_provenance(path.parent),
        measurements=read_measured_theory(path.parent),
        replayed=read_replayed(path.parent),
    )


def read_provenance(folder: Path) -> Provenance:
    """How the runs of a folder were made; nothing where it does not say."""
    place = folder / PROVENANCE
    return Provenance.read(place) if place.exists() else Provenance()


def read_measured_theory(folder: Path) -> list[Measurement]:
    """The measurements of a folder; none where there are none."""
    place = folder / MEASUREMENTS
    return read_measurements(place) if place.exists() else []


def read_replayed(folder: Path) -> list[ReplayCount]:
    """The counts of a folder; none where there are none."""
    place = folder / REPLAYED
    return read_counts(place) if place.exists() else []
