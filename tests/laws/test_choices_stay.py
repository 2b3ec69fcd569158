"""No choice on record moves: bit for bit under the versions that made the record, elsewhere as near as replay asks."""

import json
from functools import partial

import pytest

from belated import Study
from belated.learner.blas import describe_versions
from belated.record.events import event_from_dict
from belated.record.ledger.memory import MemoryLedger
from belated.results import ENOUGH
from tests.laws import recorded_campaigns, recorded_studies
from tests.laws.recorded_campaigns import create_campaign, run_campaign
from tests.laws.recorded_studies import create_study, list_plain_events, run_study

REPLAYED = 22  # choices of each study that are computed again on other versions: all of most, of the long ones these
LATER = 1e9  # a clock after all that happened
STUDIES = recorded_studies.scenes()
# name -> how its study begins, and the study itself
SCENES = {
    **{
        name: (partial(create_study, seed, scene, [LATER]), partial(run_study, seed, scene))
        for seed, (name, scene) in enumerate(STUDIES.items())
    },
    **{
        name: (partial(create_campaign, seed, scene, [LATER]), partial(run_campaign, seed, scene))
        for seed, (name, scene) in enumerate(recorded_campaigns.SCENES.items())
    },
}
WRITTEN = {
    name: (record["versions"], events)
    for path in (recorded_studies.RECORD, recorded_campaigns.RECORD)
    for record in [json.loads(path.read_text(encoding="utf-8"))]
    for name, events in record["studies"].items()
}


def test_every_study_is_on_record() -> None:
    assert list(WRITTEN) == list(SCENES)
    assert len(STUDIES) >= 30


@pytest.mark.parametrize("name", SCENES)
def test_choices_stay(name: str) -> None:
    versions, recorded = WRITTEN[name]
    create, run = SCENES[name]
    if versions == dict(describe_versions()):
        assert list_plain_events(run()) == recorded
        return
    study = create()
    again = Study(
        study.original_settings, MemoryLedger([event_from_dict(plain) for plain in recorded]), None, study.clock
    )
    chosen = [event["number"] for event in recorded if event["event"] == "asked" and not event.get("by_hand")]
    for number in chosen[:: -(-len(chosen) // REPLAYED)]:
        replayed = again.replay(number)
        assert replayed.same or replayed.gap <= ENOUGH, str(replayed)
