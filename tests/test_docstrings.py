"""Every example in a docstring runs, by itself; whatever a user calls or constructs has one."""

import doctest
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import belated
from belated import algorithms, confidence, delays, kernels, policies, silence

SRC = Path(belated.__file__).parents[1]
WITH_EXAMPLES = [
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SRC.glob("belated/**/*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]

# The public modules. Protocols and the paper's tables are looked at, not called.
MODULES = (algorithms, confidence, delays, kernels, policies, silence)
LOOKED_AT = {
    "DEFAULT",
    "PAPER",
    "SILENCES",
    "Delay",
    "Distribution",
    "Filled",
    "History",
    "Kernel",
    "Policy",
    "Silence",
    "Surface",
}


def public_names() -> Iterator[tuple[str, object]]:
    """(name, value) of whatever a user calls or constructs; exceptions are raised for them instead."""
    for name in belated.__all__:
        value = getattr(belated, name)
        if not isinstance(value, ModuleType) and not (inspect.isclass(value) and issubclass(value, Exception)):
            yield name, value
    for module in MODULES:
        names = [name for name in module.__all__ if name not in LOOKED_AT]
        yield from ((f"{module.__name__}.{name}", getattr(module, name)) for name in names)
    for name, value in vars(belated.Study).items():
        if not name.startswith("_"):
            yield f"Study.{name}", value


NAMES = dict(public_names())


def mark(name: str) -> object:
    """What needs a library that only `make test-doors` installs runs there."""
    doors = name.startswith("belated.integrations.ray")
    return pytest.param(name, marks=pytest.mark.doors) if doors else name


@pytest.mark.parametrize("name", [mark(name) for name in WITH_EXAMPLES])
def test_every_example_runs_by_itself(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, and with no name but those that the example imports."""
    monkeypatch.chdir(tmp_path)
    ran = doctest.testmod(importlib.import_module(name), globs={}, optionflags=doctest.ELLIPSIS)
    assert ran.attempted > 0
    assert ran.failed == 0


@pytest.mark.parametrize("name", NAMES)
def test_what_a_user_calls_or_constructs_has_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(NAMES[name]) or "")


def test_the_walk_sees_functions_classes_methods_and_properties() -> None:
    assert {"Real", "simulate", "Study", "Study.create", "Study.ask", "Study.floor", "Trial"} <= set(NAMES)
    assert {"belated.silence.Floor", "belated.delays.Poisson"} <= set(NAMES)
    assert "InvalidInput" not in NAMES
