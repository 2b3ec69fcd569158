"""What a server is made of, and what somebody may have it do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from belated.errors import NotAllowed
from belated.service.access import Access, Person
from belated.service.bodies import check_fields
from belated.service.gathering import Gathering
from belated.service.limits import Limits, Rates
from belated.service.metrics import Metrics
from belated.service.served import ServedStudies
from belated.service.streams import Streams
from belated.service.tokens import TokenTable
from belated.service.verbs import VERBS, check_sizes, do_asks, do_job, do_tells, may_share
from belated.service.workers import Job, Together, WorkerPool

UNSIGNED = ("delays", "advise", "log", "chart")  # looks whose `by` is no signature


class Service:
    """The parts of a server, for its routes and pages."""

    def __init__(
        self,
        url: str,
        *,
        workers: int = 2,
        open_to_all: bool = False,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """workers: processes that choose; they have the clock of their machine. 0: the server's own threads choose"""
        self.limits = limits or Limits()
        self.studies = ServedStudies(url, clock)
        self.tokens = TokenTable(self.studies.store)
        self.access = Access(self.studies, self.tokens, open_to_all=open_to_all)
        self.pool = WorkerPool(
            self.studies,
            workers,
            do_job,
            self.limits.waiting,
            self.limits.longest_wait,
            Together(may_share, do_asks),
        )
        self.tells = Gathering(partial(do_tells, self.studies))
        self.streams = Streams(self.limits.streams)
        self.metrics = Metrics()
        self.rates = Rates(self.limits.rate)

    def make_job(
        self, person: Person, identity: str, name: str, arguments: Mapping[str, Any], key: str | None = None
    ) -> Job:
        """A verb of a study, signed, if somebody may do it and its arguments are not too much.

        identity  the study's id, of access.find_study
        key       the same in every attempt: then it is done once"""
        verb = VERBS[name]
        self.access.require_scope(person, verb.scope)
        check_fields(arguments, verb.fields, verb.required)
        check_sizes(arguments, self.limits.rows, self.limits.batch)
        if "by" in verb.fields and name not in UNSIGNED:
            arguments = sign(person, arguments)
        if name == "append":
            self._check_made(person, arguments["events"])
        return Job(identity, name, arguments, key)

    def _check_made(self, person: Person, events: Any) -> None:
        """Who sends events signs them; who adds queries may ask."""
        for event in events if isinstance(events, list) else ():
            if isinstance(event, dict) and event.get("event") in ("asked", "amended"):
                self.access.require_scope(person, "ask")
            if isinstance(event, dict) and event.get("by") is not None:
                sign(person, {"by": event["by"]})

    async def announce(self, identity: str) -> None:
        """Tell those who follow a study that something happened."""
        if self.streams.is_followed(identity):
            await self.streams.announce(self.studies.open(identity))

    def close(self) -> None:
        self.streams.stop()
        self.pool.close()
        self.studies.close()


def sign(person: Person, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with who does it: whose token it is; one who owns may sign for somebody else."""
    by = arguments.get("by")
    if by is None:
        return {**arguments, "by": person.name}
    if by != person.name and person.scope != "own":
        raise NotAllowed(
            f"this token signs as {person.name}; only one that may own signs for somebody else (got {by!r})"
        )
    return dict(arguments)
