"""One call of the objective, f(params) or f(params, context), and its result."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from belated.errors import Infeasible, InvalidInput
from belated.validation import Params, format_value, require_number

ObjectiveFunction = Callable[..., float]
CoroutineFunction = Callable[..., Awaitable[float]]
Contexts = Iterable[Params] | Callable[[int], Params]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Evaluation:
    """The result of one call of f."""

    kind: Literal["told", "lost", "infeasible"]
    value: float = 0.0
    reason: str = ""


def evaluate(f: ObjectiveFunction, params: Params, context: Params | None) -> Evaluation:
    """f(params) or f(params, context): a finite number, or why there is none."""
    try:
        y = call(f, params, context)
    except BaseException as error:
        return read_error(error)
    return read_value(y)


async def evaluate_coroutine(f: CoroutineFunction, params: Params, context: Params | None) -> Evaluation:
    """The same of a coroutine function. To be cancelled is no answer, and is passed on."""
    try:
        y = await call(f, params, context)
    except (Exception, SystemExit) as error:
        return read_error(error)
    return read_value(y)


def call(f: Callable[..., Result], params: Params, context: Params | None) -> Result:
    return f(dict(params)) if context is None else f(dict(params), dict(context))


def read_value(y: object) -> Evaluation:
    try:
        return Evaluation("told", value=require_number(y, "the value of f"))
    except InvalidInput as error:
        return Evaluation("lost", reason=str(error))


def read_error(error: BaseException) -> Evaluation:
    return Evaluation("infeasible" if isinstance(error, Infeasible) else "lost", reason=format_error(error))


def format_error(error: BaseException) -> str:
    """An exception as one short line."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text if len(text) <= 300 else f"{text[:297]}..."


def check_objective(f: object, contextual: bool) -> None:
    """Refuse a function that cannot be called like f."""
    takes = "(params, context)" if contextual else "(params)"
    if not callable(f):
        raise InvalidInput(f"f must be a function of {takes} (got {format_value(f)})")
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return  # its signature is unknown
    try:
        signature.bind(*([{}, {}] if contextual else [{}]))
    except TypeError:
        raise InvalidInput(f"f must take {takes} (got one that takes {signature})") from None


def make_context_source(contexts: Contexts | None, rounds: int, contextual: bool) -> Callable[[int], Params | None]:
    """The context of round s. From a list it is the same in every run."""
    if contextual and contexts is None:
        raise InvalidInput("contexts must be given: this study has a context")
    if not contextual and contexts is not None:
        raise InvalidInput("contexts must be left out: this study has no context")
    if contexts is None:
        return lambda s: None
    if callable(contexts):
        return contexts
    if isinstance(contexts, Sequence):
        if len(contexts) < rounds:
            raise InvalidInput(f"contexts must have one for each of {rounds} rounds (got {len(contexts)})")
        return lambda s: contexts[s - 1]
    return take_in_turn(contexts)


def take_in_turn(contexts: Iterable[Params]) -> Callable[[int], Params]:
    """One context after the other, without regard to the round's number."""
    rest = iter(contexts)

    def following(s: int) -> Params:
        try:
            return next(rest)
        except StopIteration:
            raise InvalidInput(f"contexts ended before round {s}") from None

    return following
