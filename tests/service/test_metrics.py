"""What Prometheus reads: calls, asks, tells, refusals, how long they took, and how the studies stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from belated import Choice, Real, Study
from tests.support.servers import Running, run_server

NOW = 1.7e9
HOUR = 3600.0
SAMPLE = re.compile(r'(belated_\w+)(\{\w+="[^"\\]*"(?:,\w+="[^"\\]*")*\})? (\d+(?:\.\d+)?)')


def read_metrics(server: Running) -> dict[str, float]:
    """Every sample by its name and labels, each of a family that was declared before, as the format wants it."""
    found, family = dict[str, float](), ""
    for line in server.call("GET", "/metrics").body.decode().splitlines():
        if line.startswith("# TYPE "):
            family = line.split()[2]
            assert line.split()[3] in ("counter", "gauge", "histogram")
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample is not None, line
        assert re.fullmatch(rf"{family}(_bucket|_sum|_count)?", sample[1]), line
        found[sample[1] + (sample[2] or "")] = float(sample[3])
    return found


def test_what_happened_is_counted(tmp_path: Path) -> None:
    with run_server(f"sqlite:///{tmp_path}/lab.db", clock=lambda: NOW) as server:
        study = Study.create(server.url, "lab", space={"x": Real(0, 1)}, silence="unknown", seed=0)
        for hours in (0.5, 2.0, 30.0):
            study.add({"x": 0.5}, at=NOW - hours * HOUR)
        study.tell(study.ask(), 0.5)
        for wrong in ("a", "b"):
            assert server.call("POST", "/api/studies/lab/tell", {"trial": 1, "value": wrong}).status == 400
        assert server.call("GET", "/api/studies/lab/trials/9").status == 404
        found = read_metrics(server)
        assert (found["belated_asks_total"], found["belated_tells_total"]) == (1, 1)
        assert found['belated_refusals_total{code="invalid_input"}'] == 2
        assert found['belated_refusals_total{code="unknown_trial"}'] == 1
        assert found['belated_calls_total{route="tell",status="400"}'] == 2
        assert found['belated_call_seconds_count{route="tell"}'] == 3
        assert found['belated_call_seconds_bucket{route="tell",le="+Inf"}'] == 3
        assert 0 < found['belated_call_seconds_sum{route="tell"}'] < 60
        edges = [found[name] for name in found if name.startswith('belated_call_seconds_bucket{route="tell"')]
        assert edges == sorted(edges)
        ages = [found[f'belated_pending{{study="lab",younger_than="{edge}"}}'] for edge in ("1h", "1d", "7d", "+Inf")]
        assert ages == [1, 2, 3, 3]
        assert found['belated_fits_total{study="lab"}'] == 0
        study.add({"x": 0.25}, 0.1)
        study.add({"x": 0.75}, 0.2)
        study.refit()
        assert read_metrics(server)['belated_fits_total{study="lab"}'] == 1


def test_who_did_not_convert_within_patience_is_not_out(tmp_path: Path) -> None:
    with run_server(f"sqlite:///{tmp_path}/shop.db", clock=lambda: NOW) as server:
        space = {"banner": Choice("a", "b")}
        study = Study.create(
            server.url, "shop", space=space, outcomes="conversion", silence="fading", patience="1d", seed=0
        )
        for hours in (0.5, 2.0, 30.0):
            study.add({"banner": "a"}, at=NOW - hours * HOUR)
        found = read_metrics(server)
        ages = [found[f'belated_pending{{study="shop",younger_than="{edge}"}}'] for edge in ("1h", "1d", "+Inf")]
        assert ages == [1, 2, 2]


def test_health_needs_no_token(tmp_path: Path) -> None:
    with run_server(f"sqlite:///{tmp_path}/lab.db", open_to_all=False) as server:
        for method in ("GET", "HEAD"):
            assert [server.call(method, path).status for path in ("/healthz", "/readyz")] == [200, 200]
        assert server.call("GET", "/metrics").status == 401
        server.service.streams.stop()
        assert (server.call("GET", "/readyz").status, server.call("GET", "/healthz").status) == (503, 200)
