"""Imports point one way, `import belated` is light, and the learner touches no clock, file or global random state."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[1] / "src"

# A module may import from earlier rows only, and from its own room where that is one name with .*: inside a room
# modules may import each other as long as they do not go in circles. The longest name that fits a module counts.
ORDER = [
    ["belated.errors", "belated.version"],
    ["belated.validation"],
    ["belated.wording"],
    ["belated.parts"],
    ["belated.learner.arrays"],
    ["belated.learner.blas"],
    ["belated.learner.gp.*"],
    ["belated.learner.counts", "belated.learner.cell_kernel"],
    ["belated.learner.delays.*"],
    ["belated.learner.history"],
    ["belated.learner.silence"],
    ["belated.learner.feasibility"],
    ["belated.learner.belief"],
    ["belated.learner.confidence"],
    ["belated.learner.policies"],
    ["belated.learner.surrogate"],
    ["belated.learner.own_policy"],
    ["belated.learner.width", "belated.learner.fitting"],
    ["belated.learner.algorithms", "belated.learner.conversions"],
    ["belated.learner.moment"],
    ["belated.learner.choice.*"],
    ["belated.learner.foresight"],
    ["belated.learner"],
    ["belated.algorithms", "belated.confidence", "belated.kernels", "belated.policies", "belated.silence"],
    ["belated.space.*"],
    ["belated.objective", "belated.patience", "belated.dataframes"],
    ["belated.settings", "belated.results"],
    ["belated.frames"],
    ["belated.record.*"],
    ["belated.events"],
    ["belated.delays.*"],
    ["belated.outlook.*"],
    ["belated.execution.*"],
    ["belated.plotting.style"],
    ["belated.plotting.study.*"],
    ["belated.report.*"],
    ["belated.verbs.*"],
    ["belated.study"],
    ["belated.remote.*"],
    ["belated.simulation.*"],
    ["belated.comparison.*"],
    ["belated"],
    ["belated.plotting.*"],
    ["belated.integrations.*"],
    ["belated.cli.io.*"],
    ["belated.service.*"],
    ["belated.cli.*"],
    ["belated.__main__"],
]
PLACE = {name: (row, name) for row, names in enumerate(ORDER) for name in names}


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SRC.glob("belated/**/*.py"))}
LEARNER = {name: path for name, path in MODULES.items() if name.startswith("belated.learner")}


def place(module: str) -> tuple[int, str] | None:
    """The row of a module and the name it goes by there; None for a module that is not in ORDER."""
    if module in PLACE:
        return PLACE[module]
    parts = module.split(".")
    rooms = [".".join(parts[:n]) + ".*" for n in range(len(parts), 0, -1)]
    return next((PLACE[room] for room in rooms if room in PLACE), None)


def imports(tree: ast.AST, module: str, package: bool) -> Iterator[tuple[int, str, str]]:
    """(line, from where, what) of every import, also in functions and under TYPE_CHECKING; `import a.b` has no what."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = module.split(".")
            base = base[: len(base) + package - node.level] if node.level else []
            where = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, where, alias.name) for alias in node.names)


@cache
def parse(name: str) -> tuple[ast.Module, bool]:
    path = MODULES[name]
    return ast.parse(path.read_text(encoding="utf-8")), path.name == "__init__.py"


def imported_modules(name: str) -> Iterator[tuple[int, str]]:
    """(line, module) of what a module of ours imports from ours; `from belated import study` is belated.study."""
    tree, package = parse(name)
    for line, where, what in imports(tree, name, package):
        if where.split(".")[0] == "belated":
            yield line, f"{where}.{what}" if f"{where}.{what}" in MODULES else where


@cache
def annotating(name: str) -> set[int]:
    """The lines under `if TYPE_CHECKING:`."""
    tree, _ = parse(name)
    blocks = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return {line for block in blocks for line in range(block.lineno, (block.end_lineno or block.lineno) + 1)}


def test_every_import_is_seen() -> None:
    source = """
import belated.space.encoding
from . import errors
from .learner import kernels as k
from .. import study
if TYPE_CHECKING:
    from belated.record.trials import Trial
def f():
    import scipy.stats as s
"""
    seen = [(where, what) for _, where, what in imports(ast.parse(source), "belated.record.ledger.memory", False)]
    assert sorted(seen) == [
        ("belated.record", "study"),
        ("belated.record.ledger", "errors"),
        ("belated.record.ledger.learner", "kernels"),
        ("belated.record.trials", "Trial"),
        ("belated.space.encoding", ""),
        ("scipy.stats", ""),
    ]
    assert list(imports(ast.parse("from .memory import Memory"), "belated.record.ledger", True)) == [
        (1, "belated.record.ledger.memory", "Memory")
    ]


def test_imports_point_one_way() -> None:
    wrong = []
    for name in MODULES:
        here = place(name)
        if here is None:
            wrong.append(f"{name} has no place in ORDER; say where it belongs")
            continue
        for line, target in imported_modules(name):
            there = place(target)
            if there is None or not (there[0] < here[0] or (there == here and target != name)):
                wrong.append(f"{name}, line {line}: imports {target}")
    assert not wrong, "\n".join(wrong)


def test_imports_inside_a_room_do_not_go_in_circles() -> None:
    """When they run, that is: a value may be named in an annotation by the functions that it is printed with."""
    running = {
        name: [target for line, target in imported_modules(name) if line not in annotating(name)] for name in MODULES
    }
    TopologicalSorter(running).prepare()


# What stands beside the package in a checkout: it imports belated, never the other way.
BESIDE = ("reproduction", "benchmarks", "tests", "examples", "website")


def mentions_of_outside(tree: ast.AST, module: str, package: bool) -> Iterator[tuple[int, str]]:
    """(line, name) of everything outside the package that a module imports, or names in a string to import later."""
    for line, where, _ in imports(tree, module, package):
        if where.split(".")[0] in BESIDE:
            yield line, where
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)):
                if re.fullmatch(rf"({'|'.join(BESIDE)})([.:]\w+)*", text):
                    yield node.lineno, text


@pytest.mark.parametrize("name", MODULES)
def test_the_package_imports_nothing_that_stands_beside_it(name: str) -> None:
    tree, package = parse(name)
    assert not list(mentions_of_outside(tree, name, package))


@pytest.mark.parametrize(
    "line",
    [
        "import reproduction",
        "from reproduction.panels import PANELS",
        "from benchmarks import speed",
        "import tests.support",
        "import_module('reproduction.commands')",
        "COMMANDS = {'paper': ('reproduction.commands', 'words')}",
        "__import__('benchmarks')",
    ],
)
def test_what_stands_beside_the_package_is_seen(line: str) -> None:
    assert len(list(mentions_of_outside(ast.parse(line), "belated.cli", True))) == 1


REPRODUCTION = sorted(SRC.parent.glob("reproduction/**/*.py"))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, name) of everything of belated's shell, and every private name of belated, that a module outside uses."""
    ours = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            root = getattr(node, "module", None)
            ours |= {
                a.asname or a.name.split(".")[0] for a in node.names if (root or a.name).split(".")[0] == "belated"
            }
    for line, where, what in imports(tree, "", False):
        parts = [*where.split("."), what]
        if parts[0] == "belated" and ("cli" in parts[1:2] or any(map(is_private, parts))):
            yield line, ".".join(parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            value = node.value
            while isinstance(value, ast.Attribute):
                value = value.value
            if isinstance(value, ast.Name) and value.id in ours:
                yield node.lineno, node.attr


@pytest.mark.parametrize("path", REPRODUCTION, ids=lambda path: str(path.relative_to(SRC.parent)))
def test_the_reproduction_uses_no_private_name_and_nothing_of_the_shell(path: Path) -> None:
    assert not list(private_uses(ast.parse(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(
    "source",
    [
        "import belated.cli",
        "from belated import cli",
        "from belated.cli.show import show",
        "from belated.execution._pool import Pool",
        "from belated.wording import _join",
        "import belated\nbelated.study._hidden",
        "from belated.study import Study\nStudy._replay",
    ],
)
def test_private_uses_are_seen(source: str) -> None:
    assert len(list(private_uses(ast.parse(source)))) == 1


def test_private_names_of_others_are_fine() -> None:
    assert not list(private_uses(ast.parse("from belated.study import Study\nself._mine\ndraw._replace(x=1)")))


def test_importing_belated_is_light() -> None:
    heavy = {
        *("scipy.stats", "scipy.optimize", "scipy.spatial", "matplotlib", "rich", "click"),
        *("sqlite3", "psycopg", "sklearn", "torch", "optuna"),
    }
    script = "import belated, sys; print(belated.__file__); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    file, names = ran.stdout.splitlines()
    loaded = set(names.split())
    assert Path(file).resolve() == SRC / "belated" / "__init__.py"
    assert "numpy" in loaded
    assert sorted(heavy & loaded) == []


# What the learner may take from numpy.random: generators that are handed in or made from a seed.
SEEDED = {"Generator", "default_rng", "SeedSequence", "BitGenerator", "PCG64", "Philox"}
OUTER_WORLD = {"time", "datetime", "pathlib", "os", "io", "tempfile", "shutil", "sqlite3", "random", "secrets", "uuid"}


def outer_world(tree: ast.AST, module: str, package: bool) -> Iterator[tuple[int, str]]:
    """(line, what) of every clock, file or global random state that a module reaches for."""
    for line, where, what in imports(tree, module, package):
        if where.split(".")[0] in OUTER_WORLD:
            yield line, where
        elif (where, what) == ("numpy", "random") or (where == "numpy.random" and what not in SEEDED):
            yield line, f"{where}.{what}".rstrip(".")  # as a module of its own, under which any of it can be called
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="open")):
                yield node.lineno, "open"
            case ast.Call(func=ast.Attribute(attr="default_rng") | ast.Name(id="default_rng"), args=[], keywords=[]):
                yield node.lineno, "default_rng without a seed"
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"), attr=what):
                if what not in SEEDED:
                    yield node.lineno, f"numpy.random.{what}"


def test_the_learner_touches_no_clock_file_or_global_random_state() -> None:
    wrong = []
    for name in LEARNER:
        tree, package = parse(name)
        wrong += [f"{name}, line {line}: {what}" for line, what in outer_world(tree, name, package)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "line",
    [
        "import time",
        "from datetime import timedelta",
        "import os.path",
        "from random import choice",
        "from numpy.random import rand",
        "from numpy import random",
        "import numpy.random as r",
        "np.random.seed(0)",
        "x = np.random.rand(3)",
        "rng = np.random.default_rng()",
        "text = open('file').read()",
    ],
)
def test_the_outer_world_is_seen(line: str) -> None:
    assert len(list(outer_world(ast.parse(line), "belated.learner.gp.posterior", False))) == 1


def test_a_generator_made_from_a_seed_is_fine() -> None:
    source = "from numpy.random import Generator\nrng = np.random.default_rng([seed, t])\nrng.random()"
    assert not list(outer_world(ast.parse(source), "belated.learner.gp.posterior", False))
