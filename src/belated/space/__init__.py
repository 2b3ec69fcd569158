"""Where queries and contexts lie: the only border between dictionaries and arrays."""

from belated.space.encoding import Space
from belated.space.parameters import Choice, Integer, Real
from belated.space.points import Points

__all__ = ["Choice", "Integer", "Points", "Real", "Space"]
