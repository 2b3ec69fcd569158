"""Calls to the same address that come while others are being done: they are done together next, in one thread.

A call that comes alone is done at once. Everything here happens in the event loop, but for the work itself."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from starlette.concurrency import run_in_threadpool

Call = TypeVar("Call")
Answer = TypeVar("Answer")
WaitingCall = tuple[Call, "asyncio.Future[Answer]"]

AT_ONCE = 16  # calls that are done together


class Gathering(Generic[Call, Answer]):
    """Who waits at each address.

    do  what some calls of one address come to, in their order: the answer of each, or its error"""

    def __init__(self, do: Callable[[Sequence[Call]], Sequence[Answer | Exception]]) -> None:
        self._do = do
        self._waiting: dict[str, deque[WaitingCall[Call, Answer]]] = {}
        self._tasks = set[asyncio.Task[None]]()

    async def do(self, address: str, call: Call) -> Answer:
        """Do a call as soon as its turn comes."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.get(address)
        if waiting is None:
            waiting = self._waiting[address] = deque()
            task = asyncio.create_task(self._serve(address, waiting))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        waiting.append((call, future))
        return await future

    async def _serve(self, address: str, waiting: deque[WaitingCall[Call, Answer]]) -> None:
        """Do what waits at an address until nothing does."""
        try:
            while waiting:
                taken = [waiting.popleft() for _ in range(min(len(waiting), AT_ONCE))]
                answer_all(taken, await self._do_some([call for call, _ in taken]))
        finally:
            del self._waiting[address]

    async def _do_some(self, calls: Sequence[Call]) -> Sequence[Answer | Exception]:
        try:
            return await run_in_threadpool(self._do, calls)
        except Exception as error:
            return [error] * len(calls)


def answer_all(waiting: Sequence[WaitingCall[Call, Answer]], answers: Sequence[Answer | Exception]) -> None:
    """Give each its answer."""
    for (_, future), answer in zip(waiting, answers, strict=True):
        if future.done():  # its caller was told that the server ends
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
