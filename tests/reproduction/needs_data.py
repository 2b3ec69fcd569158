"""A mark for tests that need data sets which are not in the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def needs_data(*names: str) -> pytest.MarkDecorator:
    """Skip a test, with the names in the reason, unless the folder that BELATED_DATA names holds these data sets."""
    folder = os.environ.get("BELATED_DATA")
    missing = [name for name in names if not folder or not (Path(folder) / name).is_file()]
    reason = f"needs the data set {', '.join(missing)} in the folder that BELATED_DATA names"
    return pytest.mark.skipif(bool(missing), reason=reason)
