"""How many examples hypothesis draws for a law that needs another number than the rest."""

from hypothesis import settings

USUAL = 50  # examples of a law in the default run


def examples(count: int) -> int:
    """So many in the default run; where a run explores, more in the same proportion."""
    return count * settings.default.max_examples // USUAL
