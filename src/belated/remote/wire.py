"""Results as JSON, between a server and its clients."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from belated.record.events import NAMES, event_from_dict, event_to_dict
from belated.record.undoing import PastEvent
from belated.results import Receipt, Trial
from belated.validation import unwrap


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


def trial_from_dict(plain: Mapping[str, Any]) -> Trial:
    return Trial(**plain)


def receipt_from_dict(plain: Mapping[str, Any]) -> Receipt:
    return Receipt(**plain)


def past_from_dict(plain: Mapping[str, Any]) -> PastEvent:
    return PastEvent(plain["position"], event_from_dict(plain["event"]))
