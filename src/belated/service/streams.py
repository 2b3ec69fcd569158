"""Server-sent events: what happens in a study, as it happens. One task looks for news of each followed study."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from itertools import islice

from starlette.concurrency import run_in_threadpool

from belated.errors import BelatedError, TooBusy
from belated.record.ledger.chain import Entry, Head
from belated.remote.wire import to_plain
from belated.service.errors import describe_error
from belated.service.gathering import Gathering
from belated.service.served import ServedStudy

LOOK_EVERY = 0.5  # seconds between two looks for what other processes wrote
ALIVE_EVERY = 15.0  # seconds between signs of life, so that no proxy closes a quiet stream
AT_ONCE = 500  # events read in one go


class Streams:
    """Who follows which study."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._news: dict[str, asyncio.Condition] = {}
        self._heads: dict[str, Head] = {}
        self._followers: dict[str, int] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._reading: Gathering[ServedStudy, Head] = Gathering(read_heads)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.stopping = False

    def follow(self, study: ServedStudy, after: int, check: Callable[[], object]) -> AsyncIterator[str]:
        """The events of a study after a position, for ever; TooBusy where too many follow.

        check  raises where somebody may not follow any longer"""
        if sum(self._followers.values()) >= self._most:
            raise TooBusy(f"{self._most} streams are open, and more are not taken; try again later")
        return self._follow(study, after, check)

    async def _follow(self, study: ServedStudy, after: int, check: Callable[[], object]) -> AsyncIterator[str]:
        self._loop = asyncio.get_running_loop()
        identity = study.identity
        self._followers[identity] = self._followers.get(identity, 0) + 1
        if identity not in self._tasks:
            self._news[identity] = asyncio.Condition()
            self._tasks[identity] = asyncio.create_task(self._look(study))
        try:
            yield "retry: 2000\n\n"
            head = await run_in_threadpool(study.find_head, after)
            while not self.stopping:
                entries = await run_in_threadpool(lambda: list(islice(study.read_entries(head), AT_ONCE)))  # noqa: B023
                await run_in_threadpool(check)  # after reading: what was written once they may not, they never see
                for entry in entries:
                    yield format_entry(entry)
                if entries:
                    head = entries[-1].head
                    continue
                if not await self._wait(identity, head):
                    yield ": still here\n\n"
        except BelatedError as error:
            yield f"event: refused\ndata: {json.dumps(describe_error(error))}\n\n"
        finally:
            self._followers[identity] -= 1
            if not self._followers[identity]:
                del self._followers[identity]
                self._tasks.pop(identity).cancel()
                self._heads.pop(identity, None)

    async def _wait(self, identity: str, head: Head) -> bool:
        """Wait for news; False if there were none for a while."""
        news = self._news[identity]
        with suppress(TimeoutError):
            async with news:
                if self._heads.get(identity, head) == head and not self.stopping:
                    await asyncio.wait_for(news.wait(), ALIVE_EVERY)
                return True
        return False

    async def _look(self, study: ServedStudy) -> None:
        """Look for what others wrote, as long as somebody follows."""
        while True:
            with suppress(BelatedError):
                await self._note(study.identity, await run_in_threadpool(study.read_head))
            await asyncio.sleep(LOOK_EVERY)

    async def _note(self, identity: str, head: Head | None) -> None:
        news = self._news.get(identity)
        if news is None or (head is not None and self._heads.get(identity) == head):
            return
        async with news:
            if head is None:
                self._heads.pop(identity, None)
            else:
                self._heads[identity] = head
            news.notify_all()

    def is_followed(self, identity: str) -> bool:
        return identity in self._followers

    async def announce(self, study: ServedStudy) -> None:
        """Something was written here: those who follow need not wait for the next look."""
        with suppress(BelatedError):
            await self._note(study.identity, await self._reading.do(study.identity, study))

    def stop(self) -> None:
        """End every stream. It may be called from a signal."""
        self.stopping = True
        loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(lambda: [asyncio.ensure_future(self._note(each, None)) for each in self._news])


def read_heads(studies: Sequence[ServedStudy]) -> list[Head]:
    """The head of a study, for all who wrote something in it meanwhile."""
    return [studies[0].read_head()] * len(studies)


def format_entry(entry: Entry) -> str:
    """One event, as a browser reads it."""
    plain = {"position": entry.position, "event": to_plain(entry.plain)}
    return f"id: {entry.position}\nevent: {entry.plain['event']}\ndata: {json.dumps(plain)}\n\n"
