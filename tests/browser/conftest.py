"""A browser for the tests of pages."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's chromium; without it the test is skipped, in CI it fails."""
    program = shutil.which("chromium")
    if program is None:
        assert not os.environ.get("CI"), "CI must run the tests in chromium"
        pytest.skip("chromium is not installed (Debian: apt install chromium)")
    sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()
