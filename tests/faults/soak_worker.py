"""A worker of a soak: it asks, tells and amends until it is told to end, or killed, and keeps a log outside the store.

Before every call the log says what is tried, afterwards what was answered. A worker that was killed is started again
with its log: a call without an answer is made again, with its key. A worker that is interrupted (SIGINT) in the middle
of a call makes it again with the same handle.
"""

from __future__ import annotations

import json
import random
import signal
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from belated import Integer, Real, Study

SPACE = {"x": Real(0, 1), "n": Integer(1, 64, log=True)}
LONG, SHORT = 600, 100  # trials of a study whose queries only fill the space, and of one with a model
Call = dict[str, Any]


def find_study(count: int) -> str:
    return f"soak-{count}"


def open_study(url: str, count: int) -> Study:
    """The study with this number, made if needed; every second one has a model."""
    initial = 8 if count % 2 else 10**6
    return Study.create(
        url, find_study(count), space=SPACE, silence="floor", floor=0.0, patience=40, seed=count, initial=initial
    )


def read_log(path: Path) -> list[Any]:
    """The complete lines of a log."""
    text = path.read_text(encoding="ascii") if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


@dataclass
class Worker:
    """One life of a worker."""

    url: str
    name: str
    log: Path
    deadline: float  # of time.monotonic, which is the same in every process
    count: int = 0  # of the study
    made: int = 0  # calls so far
    pending: list[int] = field(default_factory=list)
    told: list[Call] = field(default_factory=list)
    calling: bool = False
    study: Study | None = None

    def run(self) -> None:
        """Live until the deadline; an error is the last line of the log."""
        signal.signal(signal.SIGINT, self.interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        try:
            before = read_log(self.log)
            for line in before:
                self.remember(line)
            if before and before[-1][0] in ("try", "interrupted") and before[-1][1]["verb"] != "amend":
                self.do(before[-1][1])
            rng = random.Random(f"{self.name} {self.made}")  # noqa: S311 - repeatable, guards no secret
            while time.monotonic() < self.deadline:
                self.do(self.choose(rng))
            if self.study is not None:
                self.study.disconnect()
        except BaseException:
            self.say(["error", traceback.format_exc()])
            raise

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Only calls of belated are interrupted, not what keeps the log."""
        if self.calling:
            self.calling = False
            raise KeyboardInterrupt

    def say(self, words: list[Any]) -> None:
        with self.log.open("a", encoding="ascii") as file:
            file.write(json.dumps(words) + "\n")

    def choose(self, rng: random.Random) -> Call:
        key, luck = f"{self.name}-{self.made}", rng.random()
        if self.told and luck < 0.1:
            number = rng.choice(self.told)["number"]
            return {"verb": "amend", "count": self.count, "number": number, "value": rng.random(), "reason": key}
        if self.told and luck < 0.15:
            return rng.choice(self.told)  # told once more, with its key
        if self.pending and luck < 0.55:
            number = rng.choice(self.pending)
            return {"verb": "tell", "count": self.count, "number": number, "value": rng.random(), "key": key}
        return {"verb": "ask", "count": self.count, "n": 2 if luck > 0.95 else 1, "key": key}

    def do(self, call: Call) -> None:
        """Make a call until it is answered, or interrupted without a key."""
        self.say(["try", call])
        while True:
            try:
                self.calling = True
                answer = self.perform(call)
                self.calling = False
                break
            except KeyboardInterrupt:
                self.say(["interrupted", call])
                if call["verb"] == "amend":
                    self.made += 1
                    return
        self.say(["did", call, answer])
        self.remember(["did", call, answer])

    def perform(self, call: Call) -> Any:
        if self.study is None:
            self.study = open_study(self.url, self.count)
        if call["verb"] == "ask":
            return [[trial.number, dict(trial.params)] for trial in self.study.ask(n=call["n"], key=call["key"])]
        if call["verb"] == "tell":
            return self.study.tell(call["number"], call["value"], key=call["key"]).status
        self.study.amend(call["number"], call["value"], reason=call["reason"])
        return "amended"

    def remember(self, line: list[Any]) -> None:
        """What a line of the log means for the calls to come."""
        self.made += 1  # so that no key is used for two calls
        if line[0] != "did":
            return
        _, call, answer = line
        if call["count"] > self.count:
            self.begin(call["count"])
        if call["verb"] == "ask":
            self.pending += [number for number, _ in answer]
            if self.pending[-1] > (SHORT if self.count % 2 else LONG):
                self.begin(self.count + 1)
        elif call["verb"] == "tell" and call["number"] in self.pending:
            self.pending.remove(call["number"])
            self.told.append(call)

    def begin(self, count: int) -> None:
        """Go on to another study; what is pending in the old one stays so."""
        self.count, self.pending, self.told = count, [], []
        if self.study is not None:
            self.study.disconnect()
            self.study = None
