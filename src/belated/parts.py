"""Own parts by name: a class that is registered, or that an installed package names as an entry point.

A stored part is its name, its fields, and where its class comes from. To read it back is to call the class."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from belated.errors import InvalidInput, Unregistered
from belated.validation import format_value, prefix_errors, require_plain

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind = Literal["policy", "silence", "kernel", "surrogate", "delay"]
NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")  # of a part
KINDS = get_args(Kind)

REGISTERED: dict[tuple[str, str], type] = {}  # by kind and name
RESERVED: dict[str, set[str]] = {kind: set() for kind in KINDS}  # names of belated's own


def register(kind: Kind, name: str, part: type) -> None:
    """Give a class of your own a name, under which stores keep its values.

    kind   "policy", "silence", "kernel", "surrogate" or "delay", a law of delays
    name   what it is called
    part   the class: a frozen dataclass with plain fields, or one without fields

    A package can do so for good, with an entry point of the group "belated.policy", "belated.silence" and so on.

    >>> from dataclasses import dataclass
    >>> import belated
    >>> @dataclass(frozen=True)
    ... class Cautious:
    ...     def scores(self, belief, Q, nu, rng):
    ...         return belated.policies.UCB().scores(belief, Q, -nu, rng)
    ...     def surface(self, belief, nu, rng):
    ...         return belated.policies.UCB().surface(belief, -nu, rng)
    >>> belated.register("policy", "cautious", Cautious)
    >>> belated.Study.create(space={"x": belated.Real(0, 1)}, algorithm="cautious", silence="unknown", seed=0)
    Study(cautious, maximize, silence=unknown, 0 trials, 0 heard)
    """
    if kind not in KINDS:
        raise InvalidInput(f"kind must be one of {', '.join(KINDS)} (got {format_value(kind)})")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidInput(f'a part\'s name must be letters, digits, ".", "_" and "-" (got {format_value(name)})')
    if not isinstance(part, type):
        raise InvalidInput(f"a part must be a class, not a value of it (got {format_value(part)})")
    if name in RESERVED[kind]:
        raise InvalidInput(f"{kind} {name} is one of belated's own; choose another name")
    own = getattr(part, "name", name)
    if isinstance(own, str) and own != name:
        raise InvalidInput(f"{kind} {name} must be registered by its own name, {own}")
    before = REGISTERED.get((kind, name))
    if before is not None and locate(before) != locate(part):
        raise InvalidInput(f"{kind} {name} is {locate(before)} already (got {locate(part)})")
    REGISTERED[kind, name] = part


def reserve(kind: Kind, *names: str) -> None:
    """Keep names for belated's own."""
    RESERVED[kind].update(names)


def find_part(kind: Kind, name: object) -> type | None:
    """The class of that name, registered or named by an installed package."""
    if not isinstance(name, str) or name in RESERVED[kind]:
        return None
    if (kind, name) not in REGISTERED:
        for point in _list_entry_points(kind):
            if point.name == name:
                register(kind, name, point.load())
                break
    return REGISTERED.get((kind, name))


def list_parts(kind: Kind) -> list[str]:
    """The names that are known here."""
    return sorted({name for each, name in REGISTERED if each == kind} | {p.name for p in _list_entry_points(kind)})


def write_part(kind: Kind, value: object) -> dict[str, Any]:
    """A value of a registered class, as plain values."""
    part = type(value)
    named = next((name for (each, name), known in REGISTERED.items() if (each, known) == (kind, part)), None)
    if named is None:
        named = next((point.name for point in _list_entry_points(kind) if point.value == locate(part)), None)
    if named is None:
        example = f'belated.register("{kind}", "{part.__name__.lower()}", {part.__name__})'
        raise InvalidInput(f"{kind} {part.__name__} has no name yet: call {example} first")
    given = (
        {field.name: getattr(value, field.name) for field in fields(value) if field.init} if is_dataclass(value) else {}
    )
    for field, each in given.items():
        with prefix_errors(f"{kind} {named}: field {field}: "):
            given[field] = [require_plain(one) for one in each] if isinstance(each, tuple) else require_plain(each)
    if read_part(kind, {kind: named, "from": locate(part), "with": given}) != value:
        raise InvalidInput(
            f"two values of {kind} {named} with the same fields must be equal: make {part.__name__} a frozen dataclass"
        )
    return {kind: named, "from": locate(part), "with": given}


def read_part(kind: Kind, spec: Mapping[str, Any]) -> Any:
    """What `write_part` wrote, read back."""
    name, place = spec[kind], spec["from"]
    part = find_part(kind, name)
    if part is None:
        package = place.partition(":")[0].partition(".")[0]
        where = f"install the package {package}, or import it" if package != "__main__" else "run the script it is in"
        raise Unregistered(f"{kind} {name} is not registered here; it is {place}: {where} and call belated.register")
    return part(**{field: tuple(each) if isinstance(each, list) else each for field, each in spec["with"].items()})


def locate(part: type) -> str:
    """Where a class is, as an entry point writes it."""
    return f"{part.__module__}:{part.__qualname__}"


def require_members(what: str, part: object, names: Sequence[str]) -> None:
    """Refuse a part that lacks what others will ask of it, or that is a class."""
    wrong = "is a class" if isinstance(part, type) else next((f"has no {n}" for n in names if not hasattr(part, n)), "")
    if wrong:
        raise InvalidInput(f"{what} must be a value with {', '.join(names)} ({format_value(part)} {wrong})")


def check_returned(who: object, what: str, value: object, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """What an own part returned, as an array; refused with the part's name unless it is finite and of this shape."""
    name = type(who).__name__
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name}: {what} must be an array of numbers (got {format_value(value)})") from None
    if array.shape != shape:
        raise InvalidInput(f"{name}: {what} must have the shape {shape} (got {array.shape})")
    if not np.all(np.isfinite(array)):
        raise InvalidInput(f"{name}: {what} must be finite (got {format_value(array[~np.isfinite(array)][0])})")
    return array


def _list_entry_points(kind: Kind) -> list[EntryPoint]:
    from importlib.metadata import entry_points

    return list(entry_points(group=f"belated.{kind}"))
