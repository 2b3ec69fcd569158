"""What a user reads when something is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from belated import BelatedError


def refusal(error: type[BelatedError], call: Callable[[], object]) -> str:
    """The message of a refusal, which must be one sentence or two, on one line."""
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    text = str(raised.value)
    assert "\n" not in text
    assert 10 < len(text) < 400
    return text
