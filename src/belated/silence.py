"""What an unheard outcome counts as, as values.

>>> from belated import silence
>>> silence.Nearest(k=3).name
'nearest'
"""

from belated.learner.history import History
from belated.learner.silence import SILENCES, Fading, Filled, Floor, Ignored, Nearest, Silence, Unknown, Waiting

__all__ = [
    "SILENCES",
    "Fading",
    "Filled",
    "Floor",
    "History",
    "Ignored",
    "Nearest",
    "Silence",
    "Unknown",
    "Waiting",
]
