"""Where faults happen: an empty store of each kind, and a lab in the middle of its life, made once, with its newest
rows in the WAL only or closed in order."""

from pathlib import Path

import pytest

from tests.faults.world import Lab, lab


@pytest.fixture(scope="session")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return lab(Path(tmp_path_factory.mktemp("crashed")) / "lab", closed=False)


@pytest.fixture(scope="session")
def rested(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return lab(Path(tmp_path_factory.mktemp("rested")) / "lab", closed=True)
