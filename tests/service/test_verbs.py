"""Every public method of a study has an address."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")

from belated import Study
from belated.service.verbs import VERBS

# What another address answers, and what a client does by itself.
ELSEWHERE = {
    "create": "POST /api/studies",
    "open": "GET /api/studies/STUDY",
    "from_dataframe": "create and add_many",
    "name": "GET /api/studies/STUDY",
    "clock": "a header of every answer: the clock of the server counts",
    "settings": "GET /api/studies/STUDY",
    "original_settings": "GET /api/studies/STUDY",
    "seed": "GET /api/studies/STUDY",
    "rounds": "GET /api/studies/STUDY",
    "closed": "GET /api/studies/STUDY",
    "locked": "GET /api/studies/STUDY",
    "floor": "GET /api/studies/STUDY",
    "fit_note": "GET /api/studies/STUDY",
    "head": "GET /api/studies/STUDY",
    "trials": "GET /api/studies/STUDY/trials",
    "trial": "GET /api/studies/STUDY/trials/NUMBER",
    "events": "GET /api/studies/STUDY/events",
    "to_dataframe": "GET /api/studies/STUDY/export",
    "best_params": "best",
    "best_value": "best",
    "optimize": "ask and tell, from where the function is",
    "optimize_async": "ask and tell, from where the function is",
    "disconnect": "a client's own",
}
OF_THIS_PROCESS = {"executor"}  # arguments that cannot be sent
BESIDE = {"append": "belated tell --csv and fail --csv", "import": "belated import", "chart": "the charts of the pages"}


def test_every_public_method_has_an_address() -> None:
    public = {name for name in vars(Study) if not name.startswith("_")}
    assert sorted(public - set(ELSEWHERE) - set(VERBS)) == []
    assert sorted(set(VERBS) - public - set(BESIDE)) == []
    assert sorted(set(ELSEWHERE) - public) == []
    assert not set(ELSEWHERE) & set(VERBS)


def test_the_fields_of_a_verb_are_the_arguments_of_its_method() -> None:
    import inspect

    for name, verb in VERBS.items():
        if name in BESIDE or name == "plot":
            continue
        arguments = set(inspect.signature(getattr(Study, name)).parameters) - {"self"} - OF_THIS_PROCESS
        assert sorted(verb.fields) == sorted(arguments), name
