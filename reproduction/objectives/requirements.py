"""Packages that an objective needs besides belated's own."""

from __future__ import annotations

from importlib.util import find_spec

from belated.errors import Unavailable


def require_scikit_learn() -> None:
    """Raise at once where scikit-learn is missing, and say what to install."""
    if find_spec("sklearn") is None:
        raise Unavailable("this panel needs scikit-learn: pip install '.[reproduction]'")
