"""To tell: outcomes, one or many, and what their receipts say."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from belated.errors import InvalidInput
from belated.record.bulk import explain_rows
from belated.record.events import Amended, Converted, Event, Refused, Repeated, Told
from belated.record.handle import Handle
from belated.record.keyed_calls import find_call
from belated.record.locks import hold
from belated.record.signing import Signature
from belated.record.state import State
from belated.record.tellings import Outcome, OutcomeEvent, OutcomeRow, TellPlan, find_by_key, refuse_counted
from belated.results import Receipt, Trial
from belated.validation import Params, freeze, require_number
from belated.verbs.reading import read_noise, read_number, read_run, read_time


def tell(
    handle: Handle,
    trial: Trial | int,
    value: float,
    at: float | datetime | None,
    noise: float | None,
    params: Params | None,
    key: str | None,
    signature: Signature,
) -> Receipt:
    """Record an outcome, if it is news; the receipt of the first call, where the key was used before."""
    with hold(handle.lock):
        unread = params is None and may_tell_unread(handle, trial, value, key)
        if not unread:
            handle.sync()
        number = read_number(handle.state, trial)
        y, when = require_number(value), read_time(handle, at)
        sigma, run = read_noise(handle.state.settings, noise), read_run(handle.state, number, params, key)
        outcome, call = Outcome(number, y, sigma, when, run), ("tell", number, y, sigma, freeze(run))

        def events() -> list[Told | Converted | Repeated | Refused | Amended]:
            state = handle.state
            if find_call(state, key, call) is not None:
                return []
            state.require_unlocked()
            refuse_counted(state, number)
            state.settings.objective.accept(y)
            match outcome.judge(state):
                case "new":
                    return [outcome.make_news(state, handle.read_clock(), key)]
                case "conversion":
                    return [outcome.make_conversion(key)]
                case "conflict":
                    return [Refused(number=number, value=y, noise=sigma, at=when)]
                case "duplicate" | "nothing new":
                    repeated = Repeated(number=number, value=y, noise=sigma, at=when, key=key or "", params=run)
                    return [] if key is None else [repeated]

        written = handle.write(events, signature, about=number if unread else None)
        keyed = find_call(handle.state, key, call)
        if keyed is None:
            return answer_tell(handle, handle.state, outcome, written[0] if written else None)
        then = handle.state
        if not then.is_unchanged(number, keyed.position):  # the receipt of then, whatever was corrected since
            then = State.after(handle.created, handle.read_events()[: keyed.position])
        return answer_tell(handle, then, outcome, keyed.event)


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


def may_tell_unread(handle: Handle, trial: Trial | int, value: float, key: str | None) -> bool:
    """Whether an outcome is news by what was read last, and nothing speaks against it; the ledger refuses it if
    that is no longer so. Everything else is decided by what is read now."""
    number = trial.number if isinstance(trial, Trial) else trial
    state, table = handle.state, handle.state.table
    keyed = key is not None and (not isinstance(key, str) or key in table.keys)
    if not handle.sound or state.locked or keyed or type(number) is not int or not 1 <= number <= table.count:
        return False
    if table.column("told_once")[number - 1] or table.column("failed_once")[number - 1]:
        return False
    try:
        state.settings.objective.accept(require_number(value))
    except InvalidInput:
        return False
    return True


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
