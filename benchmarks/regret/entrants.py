"""Who takes part: every file in peers/ whose needs are installed, and all of belated's own.

A version is what a kept run is good for: the installed version of what a peer needs and a mark of its file, which
forgets comments, docstrings and imports. Ours is a mark of the choices on record (tests/laws/choices.json): moving code
leaves them as they are, and a change that moves one must record them again, which makes every kept run of ours stale.
belated inside another library is a file in peers/ too; its version is a mark of our code for that library besides.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

PEERS = Path(__file__).parent / "peers"
OURS = "ours.py"
ROOT = Path(__file__).parents[2]
CHOICES = ROOT / "tests" / "laws" / "choices.json"  # of studies with real outcomes
INTEGRATIONS = ROOT / "src" / "belated" / "integrations"


@dataclass(frozen=True)
class Entrant:
    """Somebody who takes part, or would if what is missing were installed."""

    name: str
    own: bool
    version: str  # "" where something is missing
    file: Path
    missing: tuple[str, ...] = ()

    def load(self) -> Any:
        """The module of its file, which is imported only now."""
        return import_module(f"{package_of(self.file)}.{self.file.stem}")


def package_of(file: Path) -> str:
    """benchmarks.regret.peers for a file in there."""
    return ".".join(file.parts[-4:-1])


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
    """The file, and what it imports from its own peers/."""
    found = [file]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package_of(file)}."):
            found.append(file.parent / f"{str(node.module).rpartition('.')[2]}.py")
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


def version_of(file: Path) -> tuple[str, tuple[str, ...]]:
    """The version of a peer's file, and what it needs that is missing; "" where anything is."""
    needs = {needed: installed(needed) for needed in written(file)["NEEDS"]}
    missing = tuple(needed for needed, version in needs.items() if version is None)
    first = "".join(f"{needed} {version} " for needed, version in list(needs.items())[:1])
    return "" if missing else f"{first}{mark(imported(file))}", missing


def own_version(files: Iterable[Path], choices: Path = CHOICES) -> str:
    """The version of entrants of belated's own, which are made of these files and of our choices on record."""
    return f"belated {hashlib.sha256(choices.read_bytes()).hexdigest()[:8]} {mark(files)}"


def peer(file: Path) -> Entrant:
    """The peer of a file, or belated inside the library that the file says it is INSIDE."""
    says, (version, missing) = written(file), version_of(file)
    if "INSIDE" not in says:
        return Entrant(says["NAME"], False, version, file, missing)
    own = own_version([*imported(file), *(INTEGRATIONS / says["INSIDE"]).glob("*.py")])
    return Entrant(says["NAME"], True, "" if missing else own, file, missing)


@cache
def entrants() -> dict[str, Entrant]:
    """Everybody by name, ours first."""
    from benchmarks.regret.peers import ours

    file = PEERS / OURS
    everybody = [Entrant(name, True, own_version(imported(file)), file) for name in ours.ENTRANTS]
    everybody += [Entrant(name, True, "", file, (needed,)) for name, needed in ours.FORMER.items()]
    everybody += [peer(path) for path in sorted(PEERS.glob("[!_]*.py")) if path.name != OURS]
    return {one.name: one for one in everybody}


def entrant(name: str) -> Entrant:
    return entrants()[name]
