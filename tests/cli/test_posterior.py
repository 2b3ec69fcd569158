"""`belated posterior`: what the study believes at a query."""

import pytest

from tests.cli.shell import check_refused, invoke, open_lab, run_json

pytestmark = pytest.mark.usefixtures("lab")


def test_the_shell_says_what_python_says() -> None:
    params = {"x": 0.25, "act": "tanh"}
    for more in ((), ("--pending",)):
        found = open_lab().posterior([params], pending=bool(more))
        printed = run_json("posterior", "lab", "x=0.25", "act=tanh", *more)
        values = {name: float(v[0]) for name, v in found._asdict().items()}
        assert printed == {"params": params, **values, "fit_note": ""}
    assert invoke("posterior", "x=0.25", "act=tanh").stdout.startswith("Mean ")


def test_of_conversions_it_is_the_rate_in_a_context() -> None:
    space = ("--integer", "discount", "0", "20", "--context-choice", "segment", "new,loyal")
    invoke("new", "shop", *space, "--outcomes", "conversion", "--silence", "fading", "--patience", "7d")
    words = ("posterior", "shop", "discount=4", "--context", "segment=loyal")
    first, *place = invoke(*words).stdout.splitlines()
    assert first.startswith("Rate ")
    assert place == ["  discount  4", "  in the context", "    segment  loyal"]
    assert run_json(*words)["context"] == {"segment": "loyal"}


def test_bad_input_is_one_sentence_and_nothing_is_stored() -> None:
    check_refused(["posterior", "lab"], "name a query: one K=V for each parameter")
    check_refused(["posterior", "lab", "x=0.5"], "act")
    check_refused(["posterior", "lab", "x=0.5", "act=tanh", "y=1"], "y: there is no such parameter")
