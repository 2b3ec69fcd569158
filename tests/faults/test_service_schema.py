"""Whatever the OpenAPI document allows, and much that it does not: no server error, no undocumented answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from belated import Real, Study
from tests.support.servers import Running, run_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    store = f"sqlite:///{tmp_path_factory.mktemp('schema')}/lab.db"
    with Study.create(store, "catalyst", space={"x": Real(0, 1)}, silence="unknown", seed=0) as study:
        for i in range(4):
            study.tell(study.ask(), i / 4)
        study.ask()
    with run_server(store) as running:
        yield running


SEEN = settings(
    max_examples=8,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_no_call_is_answered_with_a_fault_or_with_what_is_not_documented(server: Running, mode: str) -> None:
    schemathesis.engine  # noqa: B018  (loads the checks)
    document = schemathesis.openapi.from_url(f"{server.url}/api/openapi.json")
    checks = [schemathesis.checks.CHECKS.get_one(name) for name in CHECKS]
    tried = 0
    for found in document.get_all_operations():
        operation = found.ok()
        if operation.path.endswith(("/stream", "/report", "/plot")):
            continue  # the first has no end, the others are slow and take a context alone

        @SEEN
        @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode[mode]))
        def call(case: Any) -> None:
            case.validate_response(case.call(timeout=20), checks=checks)

        try:
            call()
            tried += 1
        except Unsatisfiable:
            assert mode == "NEGATIVE"  # nothing about it can be wrong
    assert tried > 20
