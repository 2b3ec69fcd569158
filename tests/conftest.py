"""Settings and stores that every test shares."""

import os

# Before numpy is imported: with two BLAS threads each, two test processes on two cores are many times slower.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "Agg"  # pictures are drawn without a screen

import gc
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from belated.parts import REGISTERED
from tests.support.examples import USUAL
from tests.support.postgres import NoPostgres, Server, serve
from tests.support.studies import DURABLE, KINDS, SERVER, SERVER_OF_POSTGRES, Place

# A shell starts what runs in the background with Ctrl-C ignored; tests that send it need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The default run draws the same examples everywhere and looks at no clock: its verdict does not depend on luck.
# `make test-long` draws others, and twenty times as many.
settings.register_profile(
    "same",
    max_examples=USUAL,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "explore", settings.get_profile("same"), derandomize=False, max_examples=20 * USUAL, print_blob=True
)
settings.load_profile("same")

HERE = Path(__file__).parent
TIERS = {  # the folders and files whose tests are of a tier of their own
    "faults": [HERE / "faults"],
    "doors": [HERE / "doors"],
    "browser": [HERE / "browser", HERE / "plotting", HERE / "report"],
    "beside": [HERE / "reproduction", HERE / "benchmarks"],
    "docs": [HERE / "test_docs.py", HERE / "test_docstrings.py", HERE / "cli" / "test_cli_docs.py", HERE / "examples"],
}


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "postgres" in getattr(item, "fixturenames", ()):
            item.add_marker("faults")
        for tier, places in TIERS.items():
            if not {item.path, *item.path.parents}.isdisjoint(places):
                item.add_marker(tier)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is of a tier that is left out is not even imported."""
    chosen = config.option.markexpr
    out = (place for tier, places in TIERS.items() if f"not {tier}" in chosen for place in places)
    return True if collection_path in out else None


def pytest_collection_finish() -> None:
    """What was imported stays: the garbage collector need not go through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def own_parts() -> Iterator[None]:
    """What a test registers, it registers for itself; the code of a page does so too."""
    before = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One PostgreSQL server for this test process; without its programs the test is skipped, in CI it fails."""
    try:
        with serve() as server:
            yield server
    except NoPostgres as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI must run the tests on PostgreSQL: {error}")
        pytest.skip(str(error))


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest, postgres: Server) -> Iterator[str]:
    """The url of an empty database, for this test alone."""
    assert request.node.get_closest_marker("faults"), "a test that needs a server is marked faults"
    with postgres.database() as url:
        yield url


@pytest.fixture(params=DURABLE)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of each kind that outlives its process."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/lab.db"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A place for studies of each kind, memory included."""
    with Place.at(request.param, request) as place:
        yield place


@pytest.fixture(params=(*DURABLE, SERVER, SERVER_OF_POSTGRES))
def durable(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A place of each kind that outlives its process."""
    with Place.at(request.param, request) as place:
        yield place
