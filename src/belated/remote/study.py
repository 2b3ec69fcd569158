"""A study at a server. What only looks is computed here, from its events, whose hashes are verified on the way; what
writes goes to the server, which decides by its own clock.

Events are read when something is looked at: who only asks and tells never reads the history."""

from __future__ import annotations

import math
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from datetime import datetime, timedelta
from functools import wraps
from typing import Any

from belated.errors import BelatedError, Deleted, InvalidInput
from belated.execution.optimize import Run
from belated.learner.choice.problem import Hyperparameters
from belated.patience import Patience, parse_duration
from belated.record.additions import AddedQuery, read_addition
from belated.record.bulk import explain_rows, write_rows
from belated.record.handle import Handle
from belated.record.ledger.remote import RemoteStore
from belated.record.signing import read_person, require_reason
from belated.record.tellings import read_outcome
from belated.record.undoing import PastEvent
from belated.remote.wire import past_from_dict, receipt_from_dict, trial_from_dict
from belated.results import FAILURES, Failure, Receipt, Trial
from belated.settings import Settings
from belated.study import Study
from belated.validation import Params, format_value, read_name, require_bool, require_number, unwrap
from belated.verbs.reading import read_time

OPTIMIZE_PATIENCE = "BELATED_OPTIMIZE_TIMEOUT"  # the variable of the environment: how long optimize waits, such as 1h
OPTIMIZE_WAITS = 600.0  # seconds, unless it says otherwise
REFIT_WAITS = 600.0
LEFT_OUT = ("created_at", "created_by", "seed")  # of settings, when a server makes a study: it says them itself
MOST_BITS = 10_000  # of an integer that is sent


class Unsendable(Exception):
    """JSON has no such value."""


class RemoteStudy(Study):
    """A study at a server; Study.open("https://...") makes it."""

    def __init__(self, found: Mapping[str, Any], store: RemoteStore) -> None:
        self._server, self._then, ledger = store.connection, read_settings(found), store.make_ledger(found)
        self._path = ledger.path
        created, clock = Settings.of(store.read_spec(found)), self._server.read_clock
        self._handle = Handle(created, ledger, found["name"], clock)  # nothing is read before it is looked at

    @property
    def settings(self) -> Settings:
        return self._then if self._handle.head is None else self._handle.state.settings

    def __repr__(self) -> str:
        self._handle.sync()
        return super().__repr__()

    # What writes ------------------------------------------------------------------------------------------------------

    def ask(  # type: ignore[override]
        self,
        *,
        context: Params | None = None,
        n: int | None = None,
        contexts: Sequence[Params] | None = None,
        params: Params | None = None,
        key: str | None = None,
        by: str | None = None,
        remark: str | None = None,
    ) -> Trial | list[Trial]:
        found = self._do(
            "ask",
            context=self._send_context(context),
            n=_send(n, "n"),
            contexts=None if contexts is None else self._send_contexts(contexts),
            params=self._send_params(params),
            key=_send(key, "key"),
            by=self._sign(by),
            remark=_send(remark, "remark"),
        )
        return [trial_from_dict(each) for each in found] if isinstance(found, list) else trial_from_dict(found)

    def tell(
        self,
        trial: Trial | int,
        value: float,
        *,
        at: float | datetime | None = None,
        noise: float | None = None,
        params: Params | None = None,
        key: str | None = None,
        by: str | None = None,
        remark: str | None = None,
    ) -> Receipt:
        found = self._do(
            "tell",
            trial=_send_trial(trial),
            value=_send_number(value, "value"),
            at=None if at is None else read_time(self._handle, at),
            noise=_send_number(noise, "noise"),
            params=self._send_params(params),
            key=_send(key, "key"),
            by=self._sign(by),
            remark=_send(remark, "remark"),
        )
        return receipt_from_dict(found)

    def tell_many(
        self, rows: Iterable[Mapping[str, Any]], *, by: str | None = None, remark: str | None = None
    ) -> list[Receipt]:
        def write(part: Sequence[Mapping[str, Any]], first: int) -> list[Receipt]:
            ready = explain_rows(self._send_outcome, part, first)
            found = self._do("tell_many", rows=ready, by=self._sign(by), remark=_send(remark, "remark"))
            return [receipt_from_dict(each) for each in found]

        return write_rows(rows, write)

    def _send_outcome(self, row: Mapping[str, Any]) -> dict[str, Any]:
        read = read_outcome(row)
        plain = {
            "trial": None if read.trial is None else _send_trial(read.trial),
            "key": _send(read.key, "key"),
            "value": _send_number(read.value, "value"),
            "at": None if read.at is None else read_time(self._handle, read.at),
            "noise": _send_number(read.noise, "noise"),
        }
        return {name: each for name, each in plain.items() if each is not None}

    def add(
        self,
        params: Params,
        value: float | None = None,
        *,
        context: Params | None = None,
        at: float | datetime | None = None,
        noise: float | None = None,
        key: str | None = None,
        by: str | None = None,
        remark: str | None = None,
    ) -> Trial:
        found = self._do(
            "add",
            params=self._send_params(params),
            value=_send_number(value, "value"),
            context=self._send_context(context),
            at=None if at is None else read_time(self._handle, at),
            noise=_send_number(noise, "noise"),
            key=_send(key, "key"),
            by=self._sign(by),
            remark=_send(remark, "remark"),
        )
        return trial_from_dict(found)

    def add_many(
        self, rows: Iterable[Mapping[str, Any]], *, by: str | None = None, remark: str | None = None
    ) -> list[Trial]:
        def write(part: Sequence[Mapping[str, Any]], first: int) -> list[Trial]:
            ready = explain_rows(self._send_row, part, first)
            found = self._do("add_many", rows=ready, by=self._sign(by), remark=_send(remark, "remark"))
            return [trial_from_dict(each) for each in found]

        return write_rows(rows, write)

    def _send_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        read = read_addition(row)
        plain: dict[str, Any] = {
            "params": self._send_params(read.params),
            "context": self._send_context(read.context),
        }
        if isinstance(read, AddedQuery):
            plain |= {
                "value": _send_number(read.value, "value"),
                "at": None if read.at is None else read_time(self._handle, read.at),
                "noise": _send_number(read.noise, "noise"),
                "key": _send(read.key, "key"),
            }
        else:
            until = None if read.as_of is None else read_time(self._handle, read.as_of, "as_of")
            plain |= {"day": read.day, "shown": read.shown, "converted": read.converted, "as_of": until}
        return {name: each for name, each in plain.items() if each is not None}

    def fail(  # type: ignore[override]
        self,
        trial: Trial | int | Sequence[Trial | int],
        kind: Failure,
        *,
        reason: str | None = None,
        by: str | None = None,
    ) -> Trial | list[Trial]:
        if kind not in FAILURES:
            raise InvalidInput(f"kind must be one of {', '.join(FAILURES)} (got {format_value(kind)})")
        alone = isinstance(trial, Trial) or not isinstance(trial, Sequence) or isinstance(trial, str)
        sent = _send_trial(trial) if alone else [_send_trial(each) for each in trial]  # type: ignore[union-attr]
        why = None if reason is None else require_reason(reason)
        found = self._do("fail", trial=sent, kind=kind, reason=why, by=self._sign(by))
        return trial_from_dict(found) if alone else [trial_from_dict(each) for each in found]

    def amend(
        self,
        trial: Trial | int | None = None,
        value: float | None = None,
        *,
        reason: str,
        noise: float | None = None,
        at: float | datetime | None = None,
        params: Params | None = None,
        failure: Failure | None = None,
        take_back: bool = False,
        floor: float | None = None,
        limits: tuple[float, float] | None = None,
        patience: int | str | timedelta | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        by: str | None = None,
    ) -> Trial | None:
        found = self._do(
            "amend",
            trial=None if trial is None else _send_trial(trial),
            value=_send_number(value, "value"),
            reason=require_reason(reason),
            noise=_send_number(noise, "noise"),
            at=None if at is None else read_time(self._handle, at),
            params=self._send_params(params),
            failure=_send(failure, "failure"),
            take_back=require_bool(take_back, "take_back") or None,
            floor=_send_number(floor, "floor"),
            limits=_send(limits, "limits"),
            patience=_send(_write_duration(patience), "patience"),
            ranges=_send(ranges, "ranges"),
            by=self._sign(by),
        )
        if trial is None:
            self._handle.sync()  # the settings are others now
        return None if found is None else trial_from_dict(found)

    def find_undo(self, *, by: str | None = None) -> list[PastEvent]:
        found = self._server.get(f"{self._path}/find_undo", by=self._sign(by))
        return [past_from_dict(each) for each in found]

    def undo(
        self,
        trial: Trial | int | None = None,
        *,
        by: str | None = None,
        reason: str | None = None,
        only: int | None = None,
    ) -> list[PastEvent]:
        found = self._do(
            "undo",
            trial=None if trial is None else _send_trial(trial),
            by=self._sign(by),
            reason=None if reason is None else require_reason(reason),
            only=_send(only, "only"),
        )
        if any(each["event"].get("number") is None for each in found):
            self._handle.sync()  # the settings are others now
        return [past_from_dict(each) for each in found]

    def close(self, *, lock: bool = False, by: str | None = None, remark: str | None = None) -> None:
        self._do("close", lock=require_bool(lock, "lock") or None, by=self._sign(by), remark=_send(remark, "remark"))

    def reopen(self, *, reason: str, by: str | None = None) -> None:
        self._do("reopen", reason=require_reason(reason), by=self._sign(by))

    def rename(self, name: str, *, reason: str | None = None, by: str | None = None) -> None:
        name = read_name(name)
        why = None if reason is None else require_reason(reason)
        self._do("rename", name=name, reason=why, by=self._sign(by))
        self._handle.name = name

    def delete(self, name: str, *, reason: str, by: str | None = None) -> None:
        plain = {"name": _send(name, "name"), "reason": require_reason(reason), "by": self._sign(by)}
        self._do("delete", Deleted, **plain)

    def refit(self, *, executor: Executor | None = None, by: str | None = None) -> Hyperparameters | None:
        if executor is not None:
            raise InvalidInput("executor must be left out: the server fits in processes of its own")
        with self._server.wait_longer(REFIT_WAITS):
            found = self._do("refit", by=self._sign(by))["fitted"]
        return None if found is None else Hyperparameters.from_dict(found)

    # A whole run ------------------------------------------------------------------------------------------------------

    @wraps(Study.optimize)
    def optimize(self, f: Callable[..., float], *args: Any, **said: Any) -> Run:  # type: ignore[override]
        with self._server.wait_longer(_find_patience()):
            return super().optimize(f, *args, **said)

    @wraps(Study.optimize_async)
    async def optimize_async(  # type: ignore[override]
        self, f: Callable[..., Awaitable[float]], *args: Any, **said: Any
    ) -> Run:
        with self._server.wait_longer(_find_patience()):
            return await super().optimize_async(f, *args, **said)

    # Inside -----------------------------------------------------------------------------------------------------------

    def _do(self, verb: str, done: type[BelatedError] | None = None, **plain: Any) -> Any:
        """Let the server do something; `done` is what it answers if an attempt before this one was successful."""
        said = {name: each for name, each in plain.items() if each is not None}
        return self._server.post(f"{self._path}/{verb}", said, done=done, note_name=self._note_name)

    def _note_name(self, name: str) -> None:
        self._handle.name = name

    def _sign(self, by: str | None) -> str | None:
        """Who does it. A token says that by itself, unless somebody else is named."""
        return read_person(by) if by is not None or not self._server.has_token else None

    def _send_params(self, params: Params | None) -> Any:
        try:
            return to_sendable(params)
        except Unsendable:
            self.settings.space.encode_run(params)  # type: ignore[arg-type]  # says what is wrong, in most cases
            raise InvalidInput(f"params cannot be sent to a server (got {format_value(params)})") from None

    def _send_context(self, context: Params | None) -> Any:
        try:
            return to_sendable(context)
        except Unsendable:
            self._handle.state.encode_context(context)
            raise InvalidInput(f"context cannot be sent to a server (got {format_value(context)})") from None

    def _send_contexts(self, contexts: Any) -> Any:
        if not isinstance(contexts, Sequence) or isinstance(contexts, str):
            raise InvalidInput(f"contexts must be a list of contexts, at least one (got {format_value(contexts)})")
        return [self._send_context(each) for each in contexts]


def to_sendable(value: Any) -> Any:
    """A value as JSON holds it exactly; Unsendable where that has none."""
    value = unwrap(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    if value is None or isinstance(value, bool | str) or (isinstance(value, int) and value.bit_length() < MOST_BITS):
        return value
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: to_sendable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_sendable(each) for each in value]
    raise Unsendable


def _send(value: Any, what: str) -> Any:
    try:
        return to_sendable(value)
    except Unsendable:
        raise InvalidInput(f"{what} cannot be sent to a server (got {format_value(value)})") from None


def _send_number(value: Any, what: str) -> Any:
    try:
        return to_sendable(value)
    except Unsendable:
        return require_number(value, what)


def _send_trial(trial: Any) -> Any:
    if isinstance(trial, Trial):
        asked = {} if trial.asked_params is None else {"asked_params": _send(dict(trial.asked_params), "trial")}
        return {"number": trial.number, "params": _send(dict(trial.params), "trial"), **asked}
    return _send(trial, "trial")


def _write_duration(given: Any) -> Any:
    return f"{given.total_seconds()!r}s" if isinstance(given, timedelta) else given


def _find_patience() -> float:
    stated = os.environ.get(OPTIMIZE_PATIENCE)
    return OPTIMIZE_WAITS if not stated else parse_duration(stated, OPTIMIZE_PATIENCE)


# Making and finding ---------------------------------------------------------------------------------------------------


def open_remote(url: str, name: str, token: str | None) -> RemoteStudy:
    """A study at a server."""
    store = RemoteStore.at(url, token)
    return RemoteStudy(store.require(name), store)


def create_remote(url: str, name: str, settings: Settings, token: str | None, *, seeded: bool) -> RemoteStudy:
    """A new study at a server, or the one of this name, if it has the same settings.

    seeded: whether the user gave the seed, rather than let it be drawn"""
    store = RemoteStore.at(url, token)
    spec = settings.spec()
    own = [part for _, part in settings.algorithm.own]
    if own or "from" in spec["silence"] or "law" in spec["silence"]:
        raise InvalidInput(f"a server knows belated's own parts only (got {format_value(own or settings.silence)})")
    plain = {
        **{what: each for what, each in spec.items() if each is not None and what not in LEFT_OUT},
        "name": name,
        "patience": write_patience(settings.patience),
        "seed": settings.seed if seeded else None,
        "by": settings.created_by if not store.connection.has_token else None,
    }
    plain.pop("patience_by_clock")
    found = store.connection.post("/api/studies", {what: each for what, each in plain.items() if each is not None})
    return RemoteStudy(found, store)


def write_patience(patience: Patience) -> int | str | None:
    """A patience as Study.create takes it."""
    if patience.auto:
        return "auto-clock" if patience.by_clock else "auto"
    if math.isinf(patience.m):
        return None
    return f"{patience.m!r}s" if patience.by_clock else int(patience.m)


def read_settings(found: Mapping[str, Any]) -> Settings:
    """The settings as they are now, as a server describes them."""
    settings = Settings.of(found["settings"])
    now = found["patience_now"]
    return replace(settings, patience=replace(settings.patience, m=math.inf if now is None else float(now)))
