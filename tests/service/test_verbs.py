"""Every public method of a study has an address; tells that are done together are those done one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")

import belated
from belated import Real, Study, Trial
from belated.errors import NotSignedIn
from belated.service.served import ServedStudies
from belated.service.verbs import VERBS, do_job, do_tells
from belated.service.workers import Job

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
    "writers": "GET /api/studies/STUDY",
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


# Tells that are done together -----------------------------------------------------------------------------------------

TRIALS, TELLS = 30, 40
SAID: dict[str, Any] = {"space": {"x": Real(0, 1)}, "silence": "unknown", "seed": 3}
KINDS: dict[str, dict[str, Any]] = {
    "outcomes": {"patience": 8, "limits": (-1.0, 1.0)},
    "by the clock": {"patience": "1h", "late": "ignore"},
    "conversions": {"outcomes": "conversion", "patience": "7d", "silence": "floor"},
    "the paper's": {"algorithm": "GP-UCB-SDF", "silence": "floor", "floor": 0.0, "patience": 3},
}


def begin(folder: Path, **said: Any) -> tuple[ServedStudies, str]:
    """A store with a study of some trials, most of which are out; its clock stands still."""
    clock = [0.0]
    studies = ServedStudies(f"sqlite:///{folder}/lab.db", lambda: clock[0])
    Study.create(studies.url, "lab", clock=lambda: 0.0, **{**SAID, **said}).disconnect()
    study = studies.open(studies.find_identity("lab") or "")
    study.ask(n=TRIALS)
    study.tell(1, 0.0, key="k 0")
    study.tell(2, 0.5)
    study.fail(3, "lost")
    study.fail(4, "infeasible")
    study.amend(2, take_back=True, reason="another flask")
    clock[0] = 7200.0
    return studies, study.identity


def draw_tell(draw: np.random.Generator, number: int, asked: Trial) -> dict[str, Any]:
    """The body of a tell: mostly news, else a retry, a contradiction, or nonsense."""
    body: dict[str, Any] = {"trial": number, "value": pick(draw, [0.0, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0])}
    for name, share, values in (
        ("trial", 0.5, [{"number": number, "params": dict(asked.params)}]),
        ("trial", 0.05, [{"number": number, "params": {"x": 0.125}}, TRIALS + 1, "7"]),
        ("value", 0.05, [2.0, None, "0.5"]),
        ("at", 0.2, [10.0, 7000.0, 7100.0, "1970-01-01T01:00Z", "noon"]),
        ("noise", 0.05, [0.1, -1.0]),
        ("params", 0.05, [{"x": 0.75}, {"y": 1}]),
        ("key", 0.1, ["k 0", "k 1", "k 2", ""]),
        ("by", 0.5, ["anna", "ben"]),
        ("remark", 0.2, ["blue"]),
    ):
        if draw.random() < share:
            body[name] = pick(draw, values)
    return body


def pick(draw: np.random.Generator, values: Sequence[Any]) -> Any:
    return values[draw.integers(len(values))]


def catch(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:
        return error


def show(answer: Any) -> Any:
    """An answer, so that two of them can be compared."""
    return (type(answer), str(answer)) if isinstance(answer, Exception) else answer


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_tells_together_are_those_one_after_the_other(tmp_path: Path, kind: str, seed: int) -> None:
    """The same receipts and errors, the same events in the same order."""
    draw = np.random.default_rng([seed, len(kind)])
    asked = Study.create(**{**SAID, **KINDS[kind]}).ask(n=TRIALS)
    numbers = [*draw.permutation(TRIALS) + 1, *draw.integers(1, TRIALS + 1, TELLS - TRIALS)]
    bodies = [draw_tell(draw, int(number), asked[number - 1]) for number in numbers]
    keys = [pick(draw, [None, f"call-{i}", f"call-{i}", "call-0"]) for i in range(TELLS)]
    cuts = sorted(draw.choice(range(1, TELLS), 3, replace=False).tolist())
    found: dict[str, Any] = {}
    for way in ("together", "alone"):
        (tmp_path / way).mkdir()
        studies, identity = begin(tmp_path / way, **KINDS[kind])
        jobs = [Job(identity, "tell", body, key) for body, key in zip(bodies, keys, strict=True)]
        if way == "alone":
            answers = [catch(partial(do_job, studies, job)) for job in jobs]
        else:
            parts = [jobs[a:b] for a, b in zip([0, *cuts], [*cuts, TELLS], strict=True)]
            done = [each for part in parts for each in do_tells(studies, [lambda job=job: job for job in part])]  # type: ignore[misc]
            assert [each[0] for each in done if not isinstance(each, Exception)] == [
                job for job, each in zip(jobs, done, strict=True) if not isinstance(each, Exception)
            ]
            answers = [each if isinstance(each, Exception) else each[1] for each in done]
        found[way] = [show(each) for each in answers], studies.open(identity).events()
        assert belated.check(studies.url).ok
        studies.close()
    assert found["together"] == found["alone"]
    assert len({type(event) for event in found["alone"][1]}) > 3


def test_who_may_not_tell_is_answered_so_and_the_others_are_told(tmp_path: Path) -> None:
    studies, identity = begin(tmp_path)

    def refuse() -> Job:
        raise NotSignedIn

    gone = Job("0" * 32, "tell", {"trial": 5, "value": 0.5})
    tells = (Job(identity, "tell", {"trial": number, "value": 0.5}) for number in (5, 6, 7, 8))
    first, second, third, fourth = (partial(lambda job: job, job) for job in tells)
    answers = do_tells(studies, [first, second, refuse, lambda: gone, third, fourth])
    assert [type(each).__name__ for each in answers] == [
        "tuple",
        "tuple",
        "NotSignedIn",
        "UnknownStudy",
        "tuple",
        "tuple",
    ]
    assert [each[1]["number"] for each in answers if isinstance(each, tuple)] == [5, 6, 7, 8]
    studies.close()


def test_tells_of_a_study_that_was_deleted_say_so(tmp_path: Path) -> None:
    studies, identity = begin(tmp_path)
    Study.open(studies.url, "lab").delete("lab", reason="it was to learn the buttons")
    jobs = [Job(identity, "tell", {"trial": number, "value": 0.5}) for number in (5, 6)]
    answers = do_tells(studies, [partial(lambda job: job, job) for job in jobs])
    assert [type(each).__name__ for each in answers] == ["Deleted", "Deleted"]
    studies.close()
