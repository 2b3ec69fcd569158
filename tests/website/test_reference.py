"""The reference has every public name, and sees what has no docstring."""

from pathlib import Path
from typing import Any

import pytest

import belated
from website import exports, reference
from website.exports import find_bare, read_exports
from website.reference import find_undocumented, list_names, write_pages


def test_every_public_name_is_on_one_page() -> None:
    text = "\n".join(write_pages().values())
    for name in belated.__all__:
        entry = f"\n## belated.{name}\n" if name in belated.MODULES else f"\n::: belated.{name}\n"
        assert text.count(entry) == 1, name


def test_every_public_name_is_documented() -> None:
    assert find_undocumented() == []


def test_the_reference_has_what_every_integration_offers() -> None:
    text = write_pages()["reference/integrations.md"]
    for name in ("optuna.BelatedSampler", "ray.BelatedSearch", "ray.RayExecutor", "sklearn.BelatedSearchCV"):
        assert f"\n::: belated.integrations.{name}\n" in text
    for name in ("outcomes", "delays", "beliefs", "pending", "pair"):
        assert f"\n::: belated.plotting.interactive.draw_{name}\n" in text


def bare() -> None:
    pass


class WithBareMethod:
    """It has a docstring, and its method has none."""

    def move(self) -> None:
        pass

    @property
    def speed(self) -> float:
        return 0.0

    def spec(self) -> dict[str, object]:
        return {}  # documented by the protocols of silences and kernels


@pytest.mark.parametrize(
    ("value", "found"), [(bare, ["belated.it"]), (WithBareMethod, ["belated.it.move", "belated.it.speed"])]
)
def test_a_name_without_a_docstring_is_found(value: Any, found: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value, "__module__", "belated.somewhere")
    listed = [*list_names(), ("functions", "belated.it", value)]
    monkeypatch.setattr(reference, "list_names", lambda: listed)
    assert find_undocumented() == found


def test_exports_are_read_without_importing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "far"
    package.mkdir()
    (package / "__init__.py").write_text('from far.near import Near\n\n__all__ = ["Near", "here"]\n\ndef here(): ...\n')
    (package / "near.py").write_text('import nowhere\n\nclass Near:\n    """Near."""\n\n    def go(self): ...\n')
    monkeypatch.setattr(exports, "SOURCES", tmp_path)
    found = read_exports("far")
    assert [name for one in found.values() for name in find_bare(one)] == ["Near.go", "here"]
