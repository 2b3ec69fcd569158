"""Calls that wait at the same time are done together, in order, and each has its own answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

pytest.importorskip("fastapi")

from belated.service.gathering import AT_ONCE, Gathering


class Desk:
    """It halves even numbers, refuses odd ones, and fails at 13; a closed desk lets those wait who come."""

    def __init__(self) -> None:
        self.done = list[list[int]]()
        self.open = threading.Event()

    def do(self, calls: Sequence[int]) -> list[int | Exception]:
        self.open.wait(60)
        self.done.append(list(calls))
        if 13 in calls:
            raise LookupError("13")
        return [ValueError(call) if call % 2 else call // 2 for call in calls]


async def call_all(calls: Sequence[Coroutine[Any, Any, int]], meanwhile: Callable[[], object]) -> list[Any]:
    """What all of some calls are answered, which come in this order; `meanwhile` is called when all have come."""
    tasks = [asyncio.create_task(call) for call in calls]
    await asyncio.sleep(0.05)
    meanwhile()
    return list(await asyncio.gather(*tasks, return_exceptions=True))


def test_who_waits_is_served_together_and_in_order_and_each_gets_its_own_answer() -> None:
    desk, numbers = Desk(), list(range(20, 20 + AT_ONCE + 3))
    gathering = Gathering(desk.do)
    answers = asyncio.run(call_all([gathering.do("a", each) for each in numbers], desk.open.set))
    assert [each for part in desk.done for each in part] == numbers
    assert AT_ONCE in map(len, desk.done)
    for number, answer in zip(numbers, answers, strict=True):
        assert (str(answer) == str(number)) if number % 2 else answer == number // 2
        assert isinstance(answer, ValueError if number % 2 else int)


def test_one_address_does_not_wait_for_another() -> None:
    desk = Desk()
    gathering = Gathering(desk.do)

    async def use() -> list[Any]:
        return await call_all([gathering.do("a", 2), gathering.do("b", 4), gathering.do("a", 6)], desk.open.set)

    assert asyncio.run(use()) == [1, 2, 3]
    assert sorted(desk.done) == [[2], [4], [6]] or sorted(desk.done) == [[2, 6], [4]]


def test_a_failure_is_that_of_all_who_were_served_and_the_next_are_served() -> None:
    desk = Desk()
    gathering = Gathering(desk.do)

    async def use() -> list[Any]:
        first = await call_all([gathering.do("a", each) for each in (2, 13, 4)], desk.open.set)
        return [*first, await gathering.do("a", 8)]

    answers = asyncio.run(use())
    failed = [13, 4] if [13, 4] in desk.done else [2, 13, 4]
    assert [type(answer) for answer in answers[3 - len(failed) : 3]] == [LookupError] * len(failed)
    assert answers[3] == 4


def test_a_caller_who_leaves_holds_nobody_up() -> None:
    desk = Desk()
    gathering = Gathering(desk.do)

    async def use() -> list[Any]:
        leaving = asyncio.create_task(gathering.do("a", 2))
        await asyncio.sleep(0)

        def leave() -> None:
            leaving.cancel()
            desk.open.set()

        others = await call_all([gathering.do("a", 4), gathering.do("a", 6)], leave)
        return [*others, leaving.cancelled()]

    assert asyncio.run(use()) == [2, 3, True]
    assert [each for part in desk.done for each in part] == [2, 4, 6]
