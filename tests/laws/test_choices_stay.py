"""No choice on record moves: bit for bit under the versions that made the record, elsewhere as near as replay asks."""

import json

import pytest

from belated import Study
from belated.learner.blas import describe_versions
from belated.record.events import event_from_dict, event_to_dict
from belated.record.ledger.memory import MemoryLedger
from belated.results import ENOUGH
from tests.laws.recorded_studies import RECORD, create_study, run_study, scenes

WRITTEN = json.loads(RECORD.read_text(encoding="utf-8"))
SCENES = {name: (seed, scene) for seed, (name, scene) in enumerate(scenes().items())}
REPLAYED = 22  # choices of each study that are computed again on other versions: all of most, of the long ones these


def test_every_study_is_on_record() -> None:
    assert list(WRITTEN["studies"]) == list(SCENES)
    assert len(SCENES) >= 30


@pytest.mark.parametrize("name", SCENES)
def test_choices_stay(name: str) -> None:
    seed, scene = SCENES[name]
    recorded = WRITTEN["studies"][name]
    if WRITTEN["versions"] == dict(describe_versions()):
        now = [json.loads(json.dumps(event_to_dict(event))) for event in run_study(seed, scene).events()]
        for event in now:
            event.pop("recorded_at", None)  # when an event was written is no part of a choice
        assert now == recorded
        return
    study = create_study(seed, scene, [1e6 + scene.hour * scene.rounds])
    again = Study(
        study.original_settings, MemoryLedger([event_from_dict(plain) for plain in recorded]), None, study.clock
    )
    chosen = [event["number"] for event in recorded if event["event"] == "asked" and not event.get("by_hand")]
    for number in chosen[:: -(-len(chosen) // REPLAYED)]:
        replayed = again.replay(number)
        assert replayed.same or replayed.gap <= ENOUGH, str(replayed)
