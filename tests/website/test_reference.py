"""The reference has every public name, and sees what has no docstring."""

import pytest

import belated
from website import reference
from website.reference import find_undocumented, list_names, write_pages


def test_every_public_name_is_on_one_page() -> None:
    text = "\n".join(write_pages().values())
    for name in belated.__all__:
        entry = f"\n## belated.{name}\n" if name in belated.MODULES else f"\n::: belated.{name}\n"
        assert text.count(entry) == 1, name


def test_every_public_name_is_documented() -> None:
    assert find_undocumented() == []


def test_a_name_without_a_docstring_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def bare() -> None:
        pass

    listed = [*list_names(), ("functions", "belated.bare", bare)]
    monkeypatch.setattr(reference, "list_names", lambda: listed)
    assert find_undocumented() == ["belated.bare"]
