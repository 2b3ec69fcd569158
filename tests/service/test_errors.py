"""Every error has a stable code, a status, and comes back as the same class with the same sentence."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")

from belated import errors
from belated.errors import CODES, BelatedError
from belated.record.ledger.calls import error_from_dict
from belated.service.errors import describe_error, find_status

# Stable: programs depend on them. A new error is a new line here; none of these changes.
KNOWN = """
already_ended already_exists already_told belated_error closed contradiction deleted exhausted followed infeasible
invalid_input key_taken locked no_workers not_allowed not_positive_definite not_signed_in nothing_heard nothing_to_undo
outside server_fault store_changed taken too_busy too_large too_often unavailable unexplained_edits unknown_study
unknown_trial unreachable unreadable unregistered worker_lost
"""


def test_codes_stay() -> None:
    assert sorted(CODES) == KNOWN.split()


@pytest.mark.parametrize("code", CODES)
def test_an_error_comes_back_as_it_was(code: str) -> None:
    error = CODES[code]("value must be a number (got 'x')")
    plain = describe_error(error, ["trial", "value"])["error"]
    assert (plain["code"], plain["field"]) == (code, "value")
    again = error_from_dict(plain)
    assert (type(again), str(again)) == (type(error), str(error))
    assert 400 <= find_status(error) < 600


@pytest.mark.parametrize(
    ("sentence", "fields", "field"),
    [
        ("value must be a number (got 'x')", "trial value params", "value"),
        ("minutes: value must be a number (got 'x')", "params value context", "params"),
        ("value: value must be a number (got 'x')", "params context", "params"),
        ("salt: there is no such parameter (the names are heat, minutes)", "params value", "params"),
        ("valeu: there is no such field (the fields are trial, value)", "trial value params", None),
        ("heat: value is missing (got minutes)", "points context", "points"),
        ("context flour: value must be one of 'rye', 'wheat' (got 'oat')", "context n contexts", "context"),
        ("this study has no context; leave it out (got {'a': 1})", "context params", "context"),
        ("heat: a range must be a pair (low, high) (got [None])", "trial value ranges params", "ranges"),
        ("there is no trial 999; trials 1 to 40 exist", "trial value", "trial"),
        ("there is no trial 999; trials 1 to 40 exist", "study number", "number"),
        ("there is no trial 999; trials 1 to 40 exist", "rows by", "rows"),
        ("row 2: minutes: value must be a number (got 'a')", "rows by", "rows"),
        ("value must be a number (got 'a')", "rows by", "rows"),
        ("there is a study big already; choose another name", "name reason", "name"),
        ("to delete study lab, give its name (got 'big')", "name reason", "name"),
        ("event 59 is newer than event 3; nothing was undone", "trial only", None),
    ],
)
def test_the_field_is_the_one_that_the_sentence_is_about(sentence: str, fields: str, field: str | None) -> None:
    assert describe_error(errors.InvalidInput(sentence), fields.split())["error"]["field"] == field


def test_what_may_be_tried_again_says_so() -> None:
    assert [find_status(each()) for each in (errors.TooBusy, errors.WorkerLost, errors.Unreachable)] == [503] * 3
    assert find_status(errors.TooOften()) == 429


def test_a_class_of_somebodys_own_has_the_code_of_its_parent() -> None:
    class Odd(errors.Outside):
        """It lies outside, oddly."""

    assert describe_error(Odd())["error"]["code"] == "outside"
    assert issubclass(Odd, BelatedError)
