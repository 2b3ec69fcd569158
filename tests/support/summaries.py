"""Beliefs that are summarised from few rows on, so that tests of it are quick."""

from __future__ import annotations

import sys

import pytest

from belated.learner.gp.summary import Sizes


def use_sizes(monkeypatch: pytest.MonkeyPatch, sizes: Sizes) -> None:
    """Let every belief of this process have these sizes."""
    for name, module in list(sys.modules.items()):
        if name.startswith("belated.") and isinstance(getattr(module, "SIZES", None), Sizes):
            monkeypatch.setattr(module, "SIZES", sizes)
