"""To ask: the next queries, chosen from what the record has; and to fit the hyperparameters ahead of asks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from belated.errors import InvalidInput, PartWarning
from belated.learner.blas import describe_versions, use_one_thread
from belated.learner.choice.problem import Hyperparameters
from belated.record.choices import decode_choice, prepare_choice, prepare_fit, prepare_summary
from belated.record.events import Adjusted, Asked, Refitted
from belated.record.handle import Handle
from belated.record.keyed_calls import find_call
from belated.record.signing import Signature
from belated.results import Trial
from belated.validation import Params, format_value, freeze, require_whole

if TYPE_CHECKING:
    from concurrent.futures import Executor


def list_contexts(context: Params | None, n: int | None, contexts: Sequence[Params] | None) -> Sequence[Params | None]:
    """The context of each query that an ask is for."""
    if contexts is None:
        count = 1 if n is None else require_whole(n, "n")
        if count < 1:
            raise InvalidInput(f"n must be at least 1 (got {count})")
        return [context] * count
    if context is not None or n is not None:
        raise InvalidInput("contexts says how many queries there are and what each is for; leave context and n out")
    if isinstance(contexts, Mapping | str) or not isinstance(contexts, Sequence) or not contexts:
        raise InvalidInput(f"contexts must be a list of contexts, at least one (got {format_value(contexts)})")
    return contexts


def ask(
    handle: Handle,
    contexts: Sequence[Params | None],
    params: Params | None,
    key: str | None,
    signature: Signature,
) -> list[Trial]:
    """A trial for each context, in one transaction; those of the first call, where the key was used before."""
    batch = [handle.state.encode_context(each)[0] for each in contexts]
    fixed = None if params is None else handle.state.check_fixed(params)
    call = ("ask", tuple(map(freeze, batch)), freeze(fixed))
    with handle.lock_asks() as turn:

        def events() -> list[Asked | Adjusted]:
            with handle.hold_state() as state:
                if find_call(state, key, call) is not None:
                    return []
                state.require_open()
            with use_one_thread():
                return choose(handle, batch, fixed, key)

        asked = [event.number for event in handle.write(events, signature, turn) if isinstance(event, Asked)]
    with handle.hold_state() as state:
        before = find_call(state, key, call)
        first = asked[0] if before is None else cast("Asked", before.event).number
        return [handle.read_trial(s) for s in range(first, first + len(batch))]


def choose(
    handle: Handle, contexts: Sequence[Params | None], fixed: Params | None, key: str | None
) -> list[Asked | Adjusted]:
    """A query for each context. In a batch, each knows those before it; none knows what is told meanwhile.

    Where the study chooses patience and a change is due, that event comes first."""
    events: list[Asked | Adjusted] = []
    count = len(contexts)
    considered_at = handle.read_clock()  # a batch is chosen at one moment
    for part, context in enumerate(contexts):
        with handle.hold_state() as now:
            if part == 0:
                knew, state = now.position, now if count == 1 else now.fork(count)
                change = consider_patience(handle, considered_at)
            number, before = state.next_number, state.versions
            compute = prepare_choice(state, considered_at, context, fixed)
        with handle.use_cache() as cache:
            choice = compute(cache)
        if choice.failure and now.settings.algorithm.own:
            own = now.settings.algorithm.name
            warnings.warn(f"{own}, trial {number}: {choice.failure}; {choice.note}", PartWarning, stacklevel=3)
        event = Asked(
            number=number,
            params=decode_choice(now.settings, choice.x, fixed),
            context=context,
            knew=knew,
            considered_at=considered_at,
            asked_at=handle.read_clock(),
            fixed=fixed,
            note=choice.note,
            fitted=None if choice.fitted is None else choice.fitted.to_dict(),
            key=key,
            part=part,
            parts=count,
            knew_trials=number - 1,
            versions=None if before == describe_versions() else describe_versions(),
        )
        events.append(event)
        if part < count - 1:
            state.apply(event)
    return [*change(), *events]


def consider_patience(handle: Handle, now: float) -> Callable[[], list[Adjusted]]:
    """The change of patience that is due at this ask, if any, still to be computed."""
    if not handle.state.settings.patience.auto:
        return list
    from belated.delays.advice import prepare_adjustment

    return prepare_adjustment(handle.state, now)


def refit(handle: Handle, executor: Executor | None, signature: Signature) -> Hyperparameters | None:
    """Fit the hyperparameters now and record them; None: there is nothing to fit."""
    with handle.lock_asks() as turn:

        def events() -> list[Refitted]:
            with handle.hold_state() as state:
                state.require_open()
                at = handle.read_clock()
                compute = prepare_fit(state, at)
            with use_one_thread():
                found = compute()
            return [] if found is None else [Refitted(fitted=found.to_dict(), at=at)]

        written = handle.write(events, signature, turn)
    if written and executor is not None:
        summarise(handle, executor)
    return Hyperparameters.from_dict(written[0].fitted) if written else None


def summarise(handle: Handle, executor: Executor) -> None:
    """Compute the summary of very many queries on an executor, for the next ask of this handle."""
    from belated.execution.parallel import map_in_order

    with handle.hold_state() as state:
        compute = prepare_summary(state, handle.read_clock())
    with use_one_thread(), handle.use_cache() as cache:
        compute(cache, map_in_order(executor))
