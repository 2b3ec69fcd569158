"""Settings and places that every test shares."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.postgres import NoPostgres, Server, serving

# Before numpy is imported: with two BLAS threads each, two test processes on two cores are many times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")  # pictures are drawn without a screen

settings.register_profile("belated", deadline=None, print_blob=True)
settings.register_profile("belated-ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("belated-ci" if os.environ.get("CI") else "belated")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One PostgreSQL server for this test process; without its programs the test is skipped, in CI it fails."""
    try:
        with serving() as server:
            yield server
    except NoPostgres as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI must run the tests on PostgreSQL: {error}")
        pytest.skip(str(error))


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    """The url of an empty database, for this test alone."""
    with postgres.database() as url:
        yield url
