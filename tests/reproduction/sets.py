"""Which tests need which data: without it they are skipped and say why; in CI, where it has to be, they fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def needs(*names: str) -> pytest.MarkDecorator:
    """A mark for tests that read these data sets from the folder that BELATED_DATA names."""
    folder = os.environ.get("BELATED_DATA")
    missing = [name for name in names if not folder or not (Path(folder) / name).is_file()]
    why = f"BELATED_DATA names no folder with {', '.join(missing)}"
    return pytest.mark.skipif(bool(missing) and not os.environ.get("CI"), reason=why)
