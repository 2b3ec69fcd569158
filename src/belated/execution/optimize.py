"""Optimise a Python function: ask, evaluate on many workers at once, tell. Slow evaluations do not hold up the rest.

Everything that must not be lost is in the study: a trial is asked before it is evaluated, and stays pending until its
outcome is told. So a run may be stopped at any time, and continued by running it again.

m        patience
age      of a call: rounds asked, or seconds passed, since it was sent off
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, Protocol

from belated.errors import AlreadyEnded, AlreadyTold, Closed, Exhausted, InvalidInput, NoWorkers, Outside
from belated.execution.evaluate import (
    Contexts,
    CoroutineFunction,
    Evaluation,
    ObjectiveFunction,
    check_objective,
    make_context_source,
)
from belated.execution.stopping import Callback, StopRule, asks_to_stop, find_reached
from belated.execution.terminal import InterruptGate, Show, show_progress
from belated.execution.workers import CoroutineWorkers, ExecutorWorkers, ProcessWorkers, Workers
from belated.results import Receipt, Trial
from belated.settings import Settings
from belated.validation import Params, format_value, require_whole

log = logging.getLogger("belated")

DEFAULT_ROUNDS = 100
POLL = 1.0  # the longest wait, in seconds, before the clock is read again, when patience is by the clock


class StudyLike(Protocol):
    """What optimize needs of a study."""

    @property
    def settings(self) -> Settings: ...
    @property
    def rounds(self) -> int: ...
    @property
    def clock(self) -> Callable[[], float]: ...
    def ask(self, *, context: Params | None = None) -> Trial: ...
    def tell(self, trial: Trial | int, value: float) -> Receipt: ...
    def fail(self, trial: Trial | int, kind: Literal["lost", "infeasible", "withdrawn"]) -> Trial: ...
    def trial(self, number: int) -> Trial: ...
    def trials(self) -> list[Trial]: ...


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one call of optimize did.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from belated import Points, Study
    >>> study = Study.create(space=Points([0.0, 0.5, 1.0]), silence="unknown", seed=0)
    >>> with ThreadPoolExecutor(2) as pool:
    ...     run = study.optimize(lambda params: params["x"], rounds=4, executor=pool, progress=False)
    >>> run.told, run.lost
    (4, 0)
    """

    asked: int = 0  # new queries
    resumed: int = 0  # trials that an earlier run had left pending
    told: int = 0
    infeasible: int = 0
    lost: int = 0
    reason: str = ""  # why the last of them was lost
    refused: int = 0  # outcomes that contradict what another process told
    withdrawn: int = 0  # queries beyond the rounds, asked at the same moment as another process's, and not evaluated
    unheard: int = 0  # calls that outlasted patience and had not come back at the end
    ended: str = ""  # why asking stopped, if not because of the rounds

    def __str__(self) -> str:
        named = {"infeasible": self.infeasible, "refused": self.refused, "withdrawn": self.withdrawn}
        named["not come back"] = self.unheard
        words = [f"{self.asked} asked", f"{self.resumed} resumed", f"{self.told} told"]
        words += [f"{count} {what}" for what, count in named.items() if count]
        words += [f"{self.lost} lost (the last one: {self.reason})"] if self.lost else []
        return "; ".join(filter(None, [", ".join(words), self.ended]))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run has to do."""

    rounds: int  # in all
    workers: int
    context_of: Callable[[int], Params | None]
    stop: StopRule
    progress: bool
    resume: bool

    @classmethod
    def of(
        cls,
        study: StudyLike,
        rounds: int | None,
        workers: int,
        *,
        more: int | None,
        timeout: float | str | timedelta | None,
        until: float | None,
        callbacks: Iterable[Callback],
        contexts: Contexts | None,
        progress: bool,
        resume: bool,
    ) -> Plan:
        at_once = require_whole(workers, "workers")
        if at_once < 1:
            raise InvalidInput(f"workers must be at least 1 (got {at_once})")
        total = count_rounds(study, rounds, more)
        return cls(
            rounds=total,
            workers=at_once,
            context_of=make_context_source(contexts, total, study.settings.context is not None),
            stop=StopRule.of(timeout, until, callbacks),
            progress=progress,
            resume=resume,
        )


def count_rounds(study: StudyLike, rounds: int | None, more: int | None) -> int:
    """How many rounds the study has at the end: a total, or so many more than now."""
    if rounds is not None and more is not None:
        raise InvalidInput(
            f"give rounds (the study's total) or more (beyond those it has), not both (got {rounds!r}, {more!r})"
        )
    what, given = ("rounds", DEFAULT_ROUNDS if rounds is None else rounds) if more is None else ("more", more)
    count = require_whole(given, what)
    if count < 0:
        raise InvalidInput(f"{what} must be at least 0 (got {count})")
    return count if more is None else study.rounds + count


def optimize(study: StudyLike, f: ObjectiveFunction, plan: Plan, executor: Executor | None) -> Run:
    """See Study.optimize."""
    if executor is not None and not isinstance(executor, Executor):
        raise InvalidInput(f"executor must be a concurrent.futures.Executor (got {format_value(executor)})")
    check_objective(f, study.settings.context is not None)
    return carry_out(study, plan, ProcessWorkers(f) if executor is None else ExecutorWorkers(f, executor))


async def optimize_async(study: StudyLike, f: CoroutineFunction, plan: Plan) -> Run:
    """See Study.optimize_async. Asks and tells run in a thread of their own, evaluations in the running event loop."""
    check_objective(f, study.settings.context is not None)
    if not (inspect.iscoroutinefunction(f) or inspect.iscoroutinefunction(type(f).__call__)):
        raise InvalidInput(f"f must be a coroutine function: async def f(params) (got {format_value(f)})")
    team = CoroutineWorkers(f, asyncio.get_running_loop())
    run = asyncio.ensure_future(asyncio.to_thread(carry_out, study, plan, team))
    try:
        return await asyncio.shield(run)
    except asyncio.CancelledError:
        team.stop()
        await asyncio.wait([run])  # until what has come is told
        run.exception()
        raise
    finally:
        await team.wait_for_tasks()


def carry_out(study: StudyLike, plan: Plan, team: Workers) -> Run:
    """Ask, evaluate and tell until the plan is done."""
    left = _list_left_behind(study) if plan.resume else []
    if not left and study.rounds >= plan.rounds:
        return Run()
    with InterruptGate() as ctrl_c:
        going = _Loop(study, team, plan, ctrl_c, deque(left), plan.stop.start())
        try:
            team.begin()
            with show_progress(plan.rounds, shown=plan.progress) as show:
                going.run(show)
        except (KeyboardInterrupt, NoWorkers):
            going.salvage()
            log.warning("stopped; what was being evaluated stays pending (%d): run it again", len(going.calls))
            raise
        finally:
            team.end()
    run = going.summarize()
    if run.lost or (run.ended and not going.stopped):
        log.warning("optimize: %s", run)
    return run


@dataclass(eq=False)
class Call:
    """One evaluation that is running."""

    trial: Trial
    future: Future[Evaluation]
    since: float  # seconds of the study's clock
    after: int  # the last number that had been asked
    returned: int  # how many calls had come back in time
    outlasted: bool = False


@dataclass
class _Loop:
    """The loop: as many calls running as there are workers, not counting those that outlast patience."""

    study: StudyLike
    team: Workers
    plan: Plan
    ctrl_c: InterruptGate
    left: deque[Trial]
    is_time_over: Callable[[], bool]
    calls: dict[Future[Evaluation], Call] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    recorded: list[int] = field(default_factory=list)  # trials that the callbacks have not seen yet
    died: set[int] = field(default_factory=set)  # trials whose worker died once
    last: int = 0  # the last number seen
    returned: int = 0  # how many calls came back in time
    answered: bool = False  # whether any evaluation has returned
    reports: bool = False  # whether the executor says what is running
    reason: str = ""
    ended: str = ""
    stopped: bool = False  # whether nothing more is sent, because the user said so

    def run(self, show: Show) -> None:
        self.last = self.study.rounds
        while True:
            started = len(self._list_awaited()) < self.plan.workers and self._start()
            if not started and not self._list_awaited():
                break
            self._hear(self._wait_for_answers(0.0 if started else self._choose_timeout()))
            show(min(self.last, self.plan.rounds) - len(self.left) - len(self._list_awaited()), self._describe_progress)
        self._hear([future for future in self.calls if future.done()])

    def salvage(self) -> None:
        """Tell what has come so far; only outcomes, because Ctrl-C may be the reason of a failure."""
        for future in [future for future in self.calls if future.done() and _has_answer(future)]:
            if future.result().kind == "told":
                self._tell(self.calls.pop(future).trial, future.result())

    def summarize(self) -> Run:
        return Run(reason=self.reason, ended=self.ended, unheard=len(self.calls), **self.counts)

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def _describe_progress(self) -> str:
        sign = self.study.settings.objective.sign
        told = [sign * trial.outcome for trial in self.study.trials() if trial.outcome is not None]
        best = f"best {sign * max(told):.6g}" if told else "nothing heard"
        return f"{best}, {self.counts['lost']} lost" if "lost" in self.counts else best

    # Sending ----------------------------------------------------------------------------------------------------------

    def _start(self) -> bool:
        """Send the next trial to a worker; False when there is none."""
        if self._is_stopped():
            return False
        while self.left:
            trial = self.study.trial(self.left.popleft().number)
            if trial.outcome is None and trial.failure is None:  # no other process was faster
                if trial.number not in self.died:
                    self._count("resumed")
                return self._send(trial)
        asked = self.study.rounds
        if self.ended or asked >= self.plan.rounds:
            return False
        try:
            trial = self.study.ask(context=self.plan.context_of(asked + 1))
        except (Closed, Exhausted) as error:
            self.ended = str(error)
            return False
        self.last = trial.number
        if trial.number > self.plan.rounds:  # another process asked at the same moment: one too many
            self.study.fail(trial, "withdrawn")
            self._count("withdrawn")
            return False
        self._count("asked")
        return self._send(trial)

    def _is_stopped(self) -> bool:
        """Whether nothing more is sent. What was sent before is waited for."""
        goal = self.plan.stop.goal
        if not self.stopped and self.is_time_over():
            self._stop("the timeout is over")
        elif not self.stopped and goal is not None:
            best = find_reached(goal, self.study.settings, self.study.trials())
            if best is not None:
                self._stop(f"trial {best.number} reached {goal:g} ({best.outcome:g})")
        return self.stopped

    def _stop(self, reason: str) -> None:
        self.stopped, self.ended = True, reason

    def _send(self, trial: Trial) -> bool:
        future = self.team.submit(trial.params, trial.context)
        self.calls[future] = Call(trial, future, self.study.clock(), self.last, self.returned)
        return True

    # Waiting ----------------------------------------------------------------------------------------------------------

    def _wait_for_answers(self, timeout: float | None) -> list[Future[Evaluation]]:
        with self.ctrl_c.allow():
            done, _ = wait(self.calls, timeout, FIRST_COMPLETED)
        return sorted(done, key=lambda future: self.calls[future].trial.number)

    def _list_awaited(self) -> list[Call]:
        """The calls that are waited for."""
        self.reports = self.reports or any(future.running() for future in self.calls)
        for call in self.calls.values():
            if not call.outlasted and self._outlasts(call):
                call.outlasted = True
                log.info("trial %d outlasts patience; going on without it", call.trial.number)
        return [call for call in self.calls.values() if not call.outlasted]

    def _outlasts(self, call: Call) -> bool:
        """Whether a call keeps its worker longer than patience.

        Rounds are counted by the calls that come back. If the rounds that replace slow calls counted too, one slow call
        would make all running calls expire one after another."""
        patience = self.study.settings.patience
        if call.future.done() or (self.reports and not call.future.running()):
            return False
        if patience.by_clock:
            return self.study.clock() - call.since > patience.m
        return min(self.last - call.after, self.returned - call.returned) >= patience.m

    def _choose_timeout(self) -> float | None:
        """How long to wait for an answer before the clock is read again."""
        patience = self.study.settings.patience
        if not patience.by_clock or math.isinf(patience.m):
            return None
        left = [call.since + patience.m - self.study.clock() for call in self.calls.values() if not call.outlasted]
        return min([POLL, *(max(0.001, seconds) for seconds in left if seconds >= 0)])

    # Telling ----------------------------------------------------------------------------------------------------------

    def _hear(self, done: Sequence[Future[Evaluation]]) -> None:
        for future in sorted(done, key=_has_answer, reverse=True):  # outcomes first: a failure may end the run
            reason = "" if _has_answer(future) else self.team.explain(future, worked=self.answered)
            call = self.calls.pop(future)
            self.returned += not call.outlasted
            if reason:
                self._evaluate_again(call.trial, reason)
            else:
                self.answered = True
                self._tell(call.trial, future.result())
        self._call_back()

    def _call_back(self) -> None:
        """Show the callbacks what was recorded. Their errors end the run."""
        recorded, self.recorded = self.recorded, []
        try:
            for number in recorded:
                for callback in self.plan.stop.callbacks:
                    if asks_to_stop(callback(self.study, self.study.trial(number))):
                        self._stop(f"a callback stopped it after trial {number}")
        except BaseException:
            self.salvage()
            raise

    def _evaluate_again(self, trial: Trial, reason: str) -> None:
        """Evaluate the trial again, once: its worker failed, not f."""
        if trial.number in self.died:
            return self._tell(trial, Evaluation("lost", reason=f"{reason}, twice"))
        log.warning("trial %d is evaluated again: %s", trial.number, reason)
        self.died.add(trial.number)
        self.left.appendleft(trial)
        return None

    def _tell(self, trial: Trial, answer: Evaluation) -> None:
        try:
            if answer.kind == "told":
                self.study.tell(trial, answer.value)
            else:
                self.study.fail(trial, answer.kind)
        except Outside as error:
            return self._tell(trial, Evaluation("lost", reason=str(error)))
        except (AlreadyTold, AlreadyEnded) as error:  # another process told something else first
            self._count("refused")
            log.info("%s", error)
            return None
        self._count(answer.kind)
        self.recorded.append(trial.number)
        if answer.kind == "lost":
            self.reason = answer.reason
            # a warning for the first one only: the end of the run reports all of them
            level = logging.WARNING if self.counts["lost"] == 1 else logging.INFO
            log.log(level, "trial %d is lost: %s", trial.number, answer.reason)
        return None


def _has_answer(future: Future[Evaluation]) -> bool:
    """Whether a future that is done holds an answer."""
    return not future.cancelled() and future.exception() is None


def _list_left_behind(study: StudyLike) -> list[Trial]:
    """The trials that an earlier run left without an outcome, as far as the ledger shows.

    Rounds do not pass while nobody asks, so these trials are still pending. Time does pass: by the clock they may have
    expired since, and are evaluated all the same."""
    by_clock = study.settings.patience.by_clock
    return [trial for trial in study.trials() if trial.status == "pending" or (by_clock and trial.status == "expired")]
