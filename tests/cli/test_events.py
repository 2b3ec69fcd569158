"""`belated events`: everything that happened to a study."""

import json

import pytest

from belated.record.events import event_to_dict
from tests.cli.shell import check_refused, invoke, open_lab

pytestmark = pytest.mark.usefixtures("lab")


def test_each_line_is_an_event_as_python_lists_it() -> None:
    lines = [json.loads(line) for line in invoke("events").stdout.splitlines()]
    assert lines == json.loads(json.dumps([event_to_dict(event) for event in open_lab().events()]))
    assert [line["event"] for line in lines] == ["asked", "asked", "told"]


def test_bad_input_is_one_sentence_and_nothing_is_stored() -> None:
    check_refused(["events", "lab", "2"], "the arguments must be [NAME] (got lab 2)")
