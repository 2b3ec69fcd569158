"""Errors as answers: a status, a stable code, the sentence that Python raises, and the field that it is about."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from belated import errors
from belated.errors import BelatedError, find_code

# By class; a class that is not here has the status of its nearest parent. What is not listed is a fault of ours.
STATUS: dict[type[BelatedError], int] = {
    errors.InvalidInput: 400,
    errors.NotSignedIn: 401,
    errors.NotAllowed: 403,
    errors.UnknownStudy: 404,
    errors.UnknownTrial: 404,
    errors.AlreadyTold: 409,
    errors.AlreadyEnded: 409,
    errors.AlreadyExists: 409,
    errors.KeyTaken: 409,
    errors.Closed: 409,
    errors.Followed: 409,
    errors.NothingToUndo: 409,
    errors.NothingHeard: 409,
    errors.Exhausted: 409,
    errors.StoreChanged: 409,
    errors.Taken: 409,
    errors.Deleted: 410,
    errors.TooLarge: 413,
    errors.TooOften: 429,
    errors.Unavailable: 501,
    errors.Unregistered: 501,
    errors.Unreachable: 503,
    errors.WorkerLost: 503,
}

# Sentences that begin with another word than their field: how they begin, and the fields that they are about.
ABOUT = (
    (r"row \d+: ", ("rows",)),
    (r"context .+: value |this study has no context|context .+: there is no", ("context", "contexts")),
    (r".+: value |.+: there is no such parameter", ("params", "points", "rows")),
    (r".+: a range ", ("ranges",)),
    (r"there is no trial ", ("trial", "number", "rows")),
    (r"to delete study .+, give its name|there is a study .+; choose another name", ("name",)),
    (r"a row has |value ", ("rows",)),
)


def find_status(error: BelatedError) -> int:
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def find_wait(error: BelatedError) -> int:
    """After how many seconds it is worth trying again: Retry-After, with every 503 and 429."""
    return max(1, math.ceil(getattr(error, "wait", 1.0)))


def describe_error(error: BelatedError, fields: Iterable[str] = ()) -> dict[str, Any]:
    """The body of an answer."""
    sentence = str(error)
    return {"error": {"code": find_code(error), "message": sentence, "field": find_field(sentence, fields)}}


def find_field(sentence: str, fields: Iterable[str]) -> str | None:
    """The field that a sentence is about: it begins with it, or as those of a field do; None where there is none."""
    known, word = list(fields), sentence.split(" ", 1)[0].rstrip(":,")
    if word in known:
        return word
    about = (name for begins, names in ABOUT if re.match(begins, sentence) for name in names)
    return next((name for name in about if name in known), None)
