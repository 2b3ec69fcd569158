"""Who takes part: every file in peers/ whose needs are installed, and all of belated's own.

A version is what a kept run is good for: the installed version of what a peer needs and a mark of its file, which
forgets comments, docstrings and imports. Ours is a mark of the choices on record (tests/laws/choices.json): moving code
leaves them as they are, and a change that moves one must record them again, which makes every kept run of ours stale.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from belated.simulation.simulate import Chooser
from belated.simulation.task import Task

PEERS = Path(__file__).parent / "peers"
OURS = "ours.py"
CHOICES = Path(__file__).parents[2] / "tests" / "laws" / "choices.json"


@dataclass(frozen=True)
class Entrant:
    """Somebody who takes part, or would if what is missing were installed."""

    name: str
    own: bool
    version: str  # "" where something is missing
    file: Path
    missing: tuple[str, ...] = ()

    def chooser(self, task: Task, seed: int) -> Chooser:
        """A peer's choices for one run."""
        make: Callable[[Task, int], Chooser] = import_module(f"benchmarks.regret.peers.{self.file.stem}").chooser
        return make(task, seed)


def mark(files: Iterable[Path]) -> str:
    """Eight hex digits that change when the code in any of these files does, the same under every Python."""
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(code(ast.parse(file.read_text(encoding="utf-8"))).encode())
    return digest.hexdigest()[:8]


def code(part: object) -> str:
    """A syntax tree in one line, without docstrings, imports and empty fields: newer Pythons have more of the last."""
    if isinstance(part, list):
        return f"[{', '.join(code(one) for one in part if not is_beside_the_point(one))}]"
    if not isinstance(part, ast.AST):
        return repr(part)
    fields = (f"{name}={code(value)}" for name, value in ast.iter_fields(part) if value not in (None, []))
    return f"{type(part).__name__}({', '.join(fields)})"


def is_beside_the_point(part: object) -> bool:
    """Docstrings, and imports: those say where a thing is, not what it does."""
    return isinstance(part, ast.Import | ast.ImportFrom) or (
        isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
    )


def imported(file: Path) -> list[Path]:
    """The file, and what it imports from peers/."""
    found = [file]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{__package__}.peers."):
            found.append(PEERS / f"{str(node.module).rpartition('.')[2]}.py")
    return found


def written(file: Path) -> dict[str, Any]:
    """The names that a file assigns literals to, without importing it."""
    found: dict[str, Any] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def installed(needed: str) -> str | None:
    try:
        return metadata.version(needed)
    except metadata.PackageNotFoundError:
        return None


def peer(file: Path) -> Entrant:
    """The peer of a file."""
    says = written(file)
    needs = {needed: installed(needed) for needed in says["NEEDS"]}
    missing = tuple(needed for needed, version in needs.items() if version is None)
    first = "".join(f"{needed} {version} " for needed, version in list(needs.items())[:1])
    return Entrant(says["NAME"], False, "" if missing else f"{first}{mark(imported(file))}", file, missing)


@cache
def entrants() -> dict[str, Entrant]:
    """Everybody by name, ours first."""
    from benchmarks.regret.peers import ours

    file = PEERS / OURS
    record = hashlib.sha256(CHOICES.read_bytes()).hexdigest()[:8]
    version = f"belated {record} {mark([file])}"
    everybody = [Entrant(name, True, version, file) for name in ours.ENTRANTS]
    everybody += [peer(path) for path in sorted(PEERS.glob("[!_]*.py")) if path.name != OURS]
    return {one.name: one for one in everybody}


def entrant(name: str) -> Entrant:
    return entrants()[name]
