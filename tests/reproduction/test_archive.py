"""The provenance names what is installed; a broken file is refused."""

from pathlib import Path

import pytest

from belated.errors import Unreadable
from reproduction.archive import Provenance, list_versions


def test_the_versions_are_those_installed_here() -> None:
    assert {"Python", "numpy", "scipy"} <= {name for name, _ in list_versions()}


def test_a_provenance_survives_its_file(tmp_path: Path) -> None:
    provenance = Provenance(("a", "b"), list_versions(), ("a note",))
    provenance.write(tmp_path / "provenance.json")
    assert Provenance.read(tmp_path / "provenance.json") == provenance


@pytest.mark.parametrize("text", ["", "[]", '{"commands": 3, "versions": []}', '{"commands": []}'])
def test_a_broken_provenance_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "provenance.json").write_text(text)
    with pytest.raises(Unreadable, match="does not say how the curves were made"):
        Provenance.read(tmp_path / "provenance.json")
