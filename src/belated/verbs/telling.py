"""To tell: outcomes, one or many, and what their receipts say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal

from belated.errors import BelatedError, InvalidInput
from belated.record.bulk import explain_rows
from belated.record.events import Amended, Converted, Event, Refused, Repeated, Told
from belated.record.handle import Handle
from belated.record.keyed_calls import find_call
from belated.record.locks import hold
from belated.record.signing import NOBODY, Signature
from belated.record.state import State
from belated.record.tellings import Outcome, OutcomeEvent, OutcomeRow, TellPlan, find_by_key, refuse_counted
from belated.results import Receipt, Trial
from belated.validation import Params, require_number
from belated.verbs.reading import read_noise, read_number, read_run, read_time


@dataclass(frozen=True, kw_only=True)
class TellCall:
    """A call of `Study.tell`, and who makes it."""

    trial: Trial | int
    value: float
    at: float | datetime | None = None
    noise: float | None = None
    params: Params | None = None
    key: str | None = None
    signature: Signature = NOBODY


def tell(handle: Handle, call: TellCall) -> Receipt:
    """Record an outcome, if it is news; the receipt of the first call, where the key was used before."""
    with hold(handle.lock):
        unread = call.params is None and may_tell_unread(handle, call)
        if not unread:
            handle.sync()
        outcome, key = read_call(handle, call), call.key

        def events() -> list[Told | Converted | Repeated | Refused | Amended]:
            state = handle.state
            if find_call(state, key, outcome.call) is not None:
                return []
            state.require_unlocked()
            refuse_counted(state, outcome.number)
            state.settings.objective.accept(outcome.value)
            number, value, noise, at, run = outcome
            match outcome.judge(state):
                case "new":
                    return [outcome.make_news(state, handle.read_clock(), key)]
                case "conversion":
                    return [outcome.make_conversion(key)]
                case "conflict":
                    return [Refused(number=number, value=value, noise=noise, at=at)]
                case "duplicate" | "nothing new":
                    repeated = Repeated(number=number, value=value, noise=noise, at=at, key=key or "", params=run)
                    return [] if key is None else [repeated]

        written = handle.write(events, call.signature, about=outcome.number if unread else None)
        return answer_call(handle, outcome, key, written[0] if written else None)


def tell_news(handle: Handle, calls: Sequence[TellCall]) -> list[Receipt | BelatedError]:
    """Tell the first of some calls, as far as all of them are news, with one write; what each is answered.

    It is what these calls come to one after the other. Nothing is told where fewer than two can be told so."""
    if len(calls) < 2:
        return []
    with handle.hold_newest():
        news: list[Outcome] = []

        def events() -> list[Told]:
            nonlocal news
            news = list_news(handle, calls)
            told = (outcome.make_told(call.key) for outcome, call in zip(news, calls, strict=False))
            return [call.signature.sign(each) for each, call in zip(told, calls, strict=False)] if len(news) > 1 else []

        written = handle.write(events)
        return [
            catch_refusal(partial(answer_call, handle, outcome, call.key, event))
            for outcome, call, event in zip(news, calls, written, strict=False)
        ]


def list_news(handle: Handle, calls: Sequence[TellCall]) -> list[Outcome]:
    """The outcomes of the first calls, as far as each is the first of its trial and has a key of its own, if any."""
    news, keys = dict[int, Outcome](), set[str | None]()
    for call in calls:
        if call.params is not None or call.key in keys or not may_tell_unread(handle, call):
            break
        try:
            outcome = read_call(handle, call)
            find_call(handle.state, call.key, outcome.call)  # the key is one
            refuse_counted(handle.state, outcome.number)
        except BelatedError:
            break
        if outcome.number in news or outcome.judge(handle.state) != "new":
            break
        news[outcome.number] = outcome
        keys |= {call.key} - {None}
    return list(news.values())


def catch_refusal(answer: Callable[[], Receipt]) -> Receipt | BelatedError:
    """The answer, or why it is refused."""
    try:
        return answer()
    except BelatedError as error:
        return error


def tell_rows(
    handle: Handle, rows: Sequence[OutcomeRow], signature: Signature, first: int, key: str | None = None
) -> list[Receipt]:
    """Tell all of the rows, or none; first is the number of the first one, and key that of them all."""
    with handle.hold_newest() as state:
        now = handle.read_clock()
        outcomes = explain_rows(lambda row: read_outcome_row(handle, row, now), rows, first)
        plan = TellPlan(state, now, key)

        def events() -> list[OutcomeEvent]:
            nonlocal plan
            handle.state.require_unlocked()
            plan = TellPlan(handle.state, now, key)
            explain_rows(plan.tell, outcomes, first)
            return plan.events

        handle.write(events, signature)
        return [answer_tell(handle, handle.state, *telling) for telling in plan.tellings]


def read_outcome_row(handle: Handle, row: OutcomeRow, now: float) -> Outcome:
    """The row as plain values."""
    state = handle.state
    number = None if row.trial is None else read_number(state, row.trial)
    if number is None or row.key is not None:
        number = find_by_key(state, row.key, number)
    when = now if row.at is None else read_time(handle, row.at)
    return Outcome(number, require_number(row.value), read_noise(state.settings, row.noise), when)


def read_call(handle: Handle, call: TellCall) -> Outcome:
    """The outcome of a call, as plain values."""
    state = handle.state
    number = read_number(state, call.trial)
    value, at, noise = require_number(call.value), read_time(handle, call.at), read_noise(state.settings, call.noise)
    return Outcome(number, value, noise, at, read_run(state, number, call.params, call.key))


def may_tell_unread(handle: Handle, call: TellCall) -> bool:
    """Whether an outcome is news by what was read last, and nothing speaks against it; the ledger refuses it if
    that is no longer so. Everything else is decided by what is read now."""
    number = call.trial.number if isinstance(call.trial, Trial) else call.trial
    state, table, key = handle.state, handle.state.table, call.key
    keyed = key is not None and (not isinstance(key, str) or key in table.keys)
    if not handle.sound or state.locked or keyed or type(number) is not int or not 1 <= number <= table.count:
        return False
    if table.column("told_once")[number - 1] or table.column("failed_once")[number - 1]:
        return False
    try:
        state.settings.objective.accept(require_number(call.value))
    except InvalidInput:
        return False
    return True


def answer_call(handle: Handle, outcome: Outcome, key: str | None, written: Event | None) -> Receipt:
    """The receipt of a call, after what it wrote, if anything; where its key was used before, that of then."""
    keyed = find_call(handle.state, key, outcome.call)
    if keyed is None:
        return answer_tell(handle, handle.state, outcome, written)
    then = handle.state
    if not then.is_unchanged(outcome.number, keyed.position):  # whatever was corrected since
        then = State.after(handle.created, handle.read_events()[: keyed.position])
    return answer_tell(handle, then, outcome, keyed.event)


def answer_tell(handle: Handle, state: State, outcome: Outcome, recorded: Event | None) -> Receipt:
    """The receipt of a tell, or why it is refused, as of the state after it."""
    number, y, noise, objective = outcome.number, outcome.value, outcome.noise, state.settings.objective
    row, now = state.rows[number - 1], handle.read_clock()
    at = recorded.told_at if isinstance(recorded, Amended) else getattr(recorded, "at", None)
    stands = isinstance(recorded, Told | Converted | Amended) and row.told is not None
    if stands and row.told is not None and (row.told.value, row.told.noise, row.told.at) == (y, noise, at):
        late = state.status(number, now) == "late"
        notes = [objective.flag(y), "it was told 0 before; the conversion stands" if row.converted else ""]
        return make_receipt(state, number, now, "late" if late else "heard", notes)
    judged = outcome.judge(state)
    if isinstance(recorded, Repeated) or judged in ("duplicate", "nothing new"):
        converted = y == 0.0 and row.told is not None and row.told.value > 0.0 and objective.conversions
        notes = [objective.flag(y), "it converted before, and the conversion stands" if converted else ""]
        return make_receipt(state, number, now, "duplicate", notes)
    state.require_unlocked()
    raise outcome.explain_conflict(row)


def make_receipt(
    state: State, number: int, now: float, status: Literal["heard", "duplicate", "late"], notes: Sequence[str]
) -> Receipt:
    """What a tell came to, with what is worth saying about it."""
    settings, columns = state.settings, state.table.column
    asked_at, told_at, delay = (columns(name)[number - 1].item() for name in ("asked_at", "told_at", "delay"))
    used, notes = state.status(number, now) == "heard" or settings.late == "use", list(notes)
    if settings.patience.by_clock and told_at < asked_at:
        notes.append("it came before it was asked, which counts as a delay of 0")
    if settings.patience.by_clock and told_at > now + 60.0:
        notes.append("its time is later than now by the study's clock")
    if not used:
        patience = state.patience_of(state.rows[number - 1])
        notes.append(f"it came after patience ({patience}): recorded, and not used by the model")
    return Receipt(number=number, status=status, delay=delay, used=used, note="; ".join(filter(None, notes)))
