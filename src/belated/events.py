"""What can happen to a study: what `study.events()` lists.

>>> from belated import Real, Study, events
>>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
>>> _ = study.tell(study.ask(), 0.5)
>>> [event.value for event in study.events() if isinstance(event, events.Told)]
[0.5]
"""

from belated.record.events import (
    Adjusted,
    Amended,
    Asked,
    Converted,
    Counted,
    Ended,
    Event,
    Failed,
    Refitted,
    Refused,
    Renamed,
    Reopened,
    Repeated,
    Told,
    Undone,
)

__all__ = [
    "Adjusted",
    "Amended",
    "Asked",
    "Converted",
    "Counted",
    "Ended",
    "Event",
    "Failed",
    "Refitted",
    "Refused",
    "Renamed",
    "Reopened",
    "Repeated",
    "Told",
    "Undone",
]
