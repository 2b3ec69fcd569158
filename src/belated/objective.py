"""What is optimised: the goal, the worst and best value of f, and the limits beyond which an outcome is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from belated.errors import InvalidInput, Outside
from belated.learner.gp.scale import Bounds
from belated.validation import format_value, require_number

Goal = Literal["maximize", "minimize"]


@dataclass(frozen=True, kw_only=True)
class Objective:
    """goal, floor (worst value of the noise-free f), ceiling (best), limits (lo, hi); None means unknown.

    >>> from belated import Real, Study
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="floor", goal="minimize", floor=10.0, seed=0)
    >>> study.settings.objective.flag(12.0)
    'the outcome 12.0 is worse than the floor 10.0'
    """

    goal: Goal = "maximize"
    floor: float | None = None
    ceiling: float | None = None
    limits: tuple[float, float] | None = None
    conversions: bool = False  # an outcome comes only if it is good: 1, or an amount

    @classmethod
    def of(cls, goal: object, floor: object, ceiling: object, limits: object) -> Objective:
        """The objective that a user declares."""
        if goal not in ("maximize", "minimize"):
            raise InvalidInput(f'goal must be "maximize" or "minimize" (got {format_value(goal)})')
        worst = None if floor is None else require_number(floor, "floor")
        best = None if ceiling is None else require_number(ceiling, "ceiling")
        if worst is not None and best is not None and not (worst < best if goal == "maximize" else worst > best):
            rule = (
                "less than the ceiling" if goal == "maximize" else "more than the ceiling when the goal is to minimize"
            )
            raise InvalidInput(f"floor must be {rule} (got floor {worst!r}, ceiling {best!r})")
        if limits is None:
            return cls(goal="maximize" if goal == "maximize" else "minimize", floor=worst, ceiling=best)
        if not isinstance(limits, Sequence) or isinstance(limits, str) or len(limits) != 2:
            raise InvalidInput(f"limits must be a pair (lo, hi) (got {format_value(limits)})")
        lo, hi = require_number(limits[0], "limits"), require_number(limits[1], "limits")
        if not lo < hi:
            raise InvalidInput(f"limits must have lo less than hi (got {lo!r}, {hi!r})")
        return cls(goal="maximize" if goal == "maximize" else "minimize", floor=worst, ceiling=best, limits=(lo, hi))

    def amend(self, floor: object, limits: object) -> Objective:
        """The same with a new floor or new limits, where given."""
        if self.conversions and floor not in (None, 0, 0.0):
            raise InvalidInput(f"conversions have the floor 0 (got {format_value(floor)})")
        changed = Objective.of(
            self.goal,
            self.floor if floor is None else floor,
            self.ceiling,
            self.limits if limits is None else limits,
        )
        return replace(changed, conversions=self.conversions)

    def check_floor(self) -> None:
        """Refuse a floor that nobody could tell. Not in `of`: studies of older versions that have one can be opened."""
        if self.floor is not None and self.limits is not None and not self.limits[0] <= self.floor <= self.limits[1]:
            lo, hi = self.limits
            raise InvalidInput(f"floor must lie within the limits (got floor {self.floor!r}, limits {lo!r} to {hi!r})")

    @property
    def sign(self) -> float:
        """1 where more is better, -1 where less is."""
        return 1.0 if self.goal == "maximize" else -1.0

    @property
    def bounds(self) -> Bounds:
        """The part of it that the learner needs."""
        return Bounds(self.sign, self.floor, self.ceiling)

    def accept(self, value: object) -> float:
        """The value as a float, if it is a finite number within the limits."""
        y = require_number(value, "value")
        if self.conversions and y < 0:
            raise InvalidInput(f"a conversion must be 1 or an amount, or 0 for none (got {y!r})")
        if self.limits is not None and not self.limits[0] <= y <= self.limits[1]:
            raise Outside(
                f"value must lie within the limits {self.limits[0]!r} to {self.limits[1]!r} (got {y!r}); "
                "correct the value, or declare wider limits"
            )
        return y

    def flag(self, y: float) -> str:
        """A note on an outcome beyond the floor or the ceiling; empty if it is within."""
        if self.floor is not None and self.sign * y < self.sign * self.floor:
            return f"the outcome {y!r} is worse than the floor {self.floor!r}"
        if self.ceiling is not None and self.sign * y > self.sign * self.ceiling:
            return f"the outcome {y!r} is better than the ceiling {self.ceiling!r}"
        return ""
