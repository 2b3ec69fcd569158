"""A missing package is named at once, with what to install."""

import sys

import pytest

from belated.errors import Unavailable
from reproduction.objectives import lr


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sklearn", raising=False)
    monkeypatch.setattr("reproduction.objectives.requirements.find_spec", lambda name: None)
    with pytest.raises(Unavailable, match=r"needs scikit-learn: pip install '\.\[reproduction\]'$"):
        lr.make_task(0)
