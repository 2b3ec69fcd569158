"""What a server and its clients say to each other: errors by code, results as JSON, the names of headers."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import belated.errors as errors
from belated.errors import BelatedError, ServerFault
from belated.record.events import NAMES, event_from_dict, event_to_dict
from belated.record.undoing import PastEvent
from belated.results import Receipt, Trial
from belated.validation import unwrap

TIME = "Belated-Time"  # the server's clock, with every answer
KEY = "Idempotency-Key"  # the same in every attempt at one call
TOKEN = "BELATED_TOKEN"  # noqa: S105  (the variable of the environment that holds it)
BY_IDENTITY = "id:"  # before a study's id, where its name could stand: it stays the same when the study is renamed
PAGE = 1000  # events in one answer


def _list_codes() -> dict[str, type[BelatedError]]:
    """Every error by its code: AlreadyTold is already_told."""
    found = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, BelatedError)]
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", each.__name__).lower(): each for each in found}


CODES = _list_codes()
NAMES_OF_CODES = {kind: code for code, kind in CODES.items()}


def find_code(error: BelatedError) -> str:
    """The code of an error; of a class of its own, that of the nearest one that has a code."""
    return next(NAMES_OF_CODES[kind] for kind in type(error).__mro__ if kind in NAMES_OF_CODES)


def error_from_dict(plain: Mapping[str, Any]) -> BelatedError:
    """The error that a server answered with."""
    return CODES.get(str(plain.get("code")), ServerFault)(str(plain.get("message", "")))


def to_plain(value: Any) -> Any:
    """A result as JSON holds it. What is not finite is null."""
    value = unwrap(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    if type(value) in NAMES:
        return to_plain(event_to_dict(value))
    if hasattr(value, "to_dict"):
        return to_plain(value.to_dict())
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): to_plain(each) for name, each in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: to_plain(each) for name, each in value._asdict().items()}
    if isinstance(value, Sequence):
        return [to_plain(each) for each in value]
    raise TypeError(f"a {type(value).__name__} has no JSON")


def write_json(plain: Any) -> bytes:
    return json.dumps(plain, allow_nan=False, separators=(",", ":")).encode()


def trial_from_dict(plain: Mapping[str, Any]) -> Trial:
    return Trial(**plain)


def receipt_from_dict(plain: Mapping[str, Any]) -> Receipt:
    return Receipt(**plain)


def past_from_dict(plain: Mapping[str, Any]) -> PastEvent:
    return PastEvent(plain["position"], event_from_dict(plain["event"]))
