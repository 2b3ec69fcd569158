"""A new study, from a JSON object with the words of Study.create."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from belated.errors import InvalidInput
from belated.learner.algorithms import read_algorithm
from belated.learner.silence import read_silence
from belated.service.bodies import check_fields, read_arguments
from belated.service.schemas import SETTINGS
from belated.service.served import ServedStudies
from belated.space.encoding import Space
from belated.study import Study
from belated.validation import format_value, prefix_errors, read_name

OWN_PART = "a part of somebody's own cannot be sent to a server; algorithm and silence must be belated's (got {})"


def create_study(studies: ServedStudies, plain: Mapping[str, Any], by: str | None) -> str:
    """Make a study, or find the one of this name and these settings; its name."""
    check_fields(plain, SETTINGS, ("name", "space"))
    given = read_arguments(plain)
    name = read_name(given.pop("name"))
    for what in ("space", "context"):
        if what in given:
            given[what] = _read_space(given[what], what)
    for what in ("silence", "algorithm"):
        if isinstance(given.get(what), dict):
            given[what] = _read_part(what, given[what])
    with Study.create(studies.url, name, **{**given, "by": by}) as study:
        return study.name or name


def _read_space(plain: Any, what: str) -> Space:
    """By the name of each parameter, or as a stored space is written."""
    if not isinstance(plain, dict) or not plain:
        raise InvalidInput(f"{what} must be an object with a parameter or more (got {format_value(plain)})")
    spec = plain
    if not isinstance(plain.get("kind"), str):
        parts = [{"log": False, **part} if isinstance(part, dict) else part for part in plain.values()]
        spec = {"kind": "parameters", "names": list(plain), "parameters": parts}
    try:
        with prefix_errors(""):
            return Space.from_spec(spec, "space" if what == "space" else "context")
    except (KeyError, TypeError, AttributeError):
        rule = '{"x": {"kind": "real", "low": 0, "high": 1}}'
        raise InvalidInput(f"{what} must be like {rule} (got {format_value(plain)})") from None


def _read_part(what: str, plain: dict[str, Any]) -> Any:
    if "from" in plain or "own" in plain or "law" in plain:
        raise InvalidInput(OWN_PART.format(format_value(plain)))
    try:
        return read_algorithm(plain) if what == "algorithm" else read_silence(plain)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{what} must be a name, or as spec() writes it (got {format_value(plain)})") from None
