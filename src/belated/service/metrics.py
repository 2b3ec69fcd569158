"""Numbers for Prometheus: calls by route and status, how long they took, and how the studies stand."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator

from belated.errors import BelatedError
from belated.service.served import ServedStudy

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
AGES = {"1h": 3600.0, "1d": 86400.0, "7d": 604800.0}


class Metrics:
    """Counts of what a server did since it started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[tuple[str, int]] = Counter()
        self._took: Counter[tuple[str, float]] = Counter()
        self._sums: Counter[str] = Counter()
        self._refusals: Counter[str] = Counter()

    def note_call(self, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self._calls[route, status] += 1
            self._sums[route] += seconds  # type: ignore[assignment]
            for edge in BUCKETS:
                if seconds <= edge:
                    self._took[route, edge] += 1

    def note_refusal(self, code: str) -> None:
        with self._lock:
            self._refusals[code] += 1

    def write(self, studies: Iterable[ServedStudy], waiting: int, running: int) -> str:
        """Everything, as Prometheus reads it."""
        with self._lock:
            calls, took, sums, refusals = dict(self._calls), dict(self._took), dict(self._sums), dict(self._refusals)
        lines = ["# TYPE belated_calls_total counter"]
        lines += [f'belated_calls_total{{route="{r}",status="{s}"}} {n}' for (r, s), n in sorted(calls.items())]
        for verb in ("ask", "tell"):
            done = sum(n for (route, status), n in calls.items() if route == verb and status < 300)
            lines += [f"# TYPE belated_{verb}s_total counter", f"belated_{verb}s_total {done}"]
        lines.append("# TYPE belated_refusals_total counter")
        lines += [f'belated_refusals_total{{code="{code}"}} {n}' for code, n in sorted(refusals.items())]
        lines.append("# TYPE belated_call_seconds histogram")
        for route in sorted(sums):
            count = sum(n for (each, _), n in calls.items() if each == route)
            lines += [
                f'belated_call_seconds_bucket{{route="{route}",le="{edge}"}} {took.get((route, edge), 0)}'
                for edge in BUCKETS
            ]
            lines.append(f'belated_call_seconds_bucket{{route="{route}",le="+Inf"}} {count}')
            lines.append(f'belated_call_seconds_sum{{route="{route}"}} {sums[route]:.6f}')
            lines.append(f'belated_call_seconds_count{{route="{route}"}} {count}')
        lines += ["# TYPE belated_jobs_waiting gauge", f"belated_jobs_waiting {waiting}"]
        lines += ["# TYPE belated_jobs_running gauge", f"belated_jobs_running {running}"]
        lines += list(_describe_studies(studies))
        return "\n".join(lines) + "\n"


def _describe_studies(studies: Iterable[ServedStudy]) -> Iterator[str]:
    yield "# TYPE belated_pending gauge"
    found = list[str]()
    for study in studies:
        try:
            ages = study.list_pending_ages(study.clock())
            fits = len(study.hyperparameters())
        except BelatedError:
            continue  # it was deleted, or the store cannot be reached: readyz says that
        for label, edge in AGES.items():
            yield f'belated_pending{{study="{study.name}",younger_than="{label}"}} {sum(age < edge for age in ages)}'
        yield f'belated_pending{{study="{study.name}",younger_than="+Inf"}} {len(ages)}'
        found.append(f'belated_fits_total{{study="{study.name}"}} {fits}')
    yield "# TYPE belated_fits_total counter"
    yield from found
