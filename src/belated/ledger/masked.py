"""Passwords never show."""

from __future__ import annotations

import re


def masked(url: object) -> object:
    """The url without its password, for every message; what might be one counts as one."""
    if not isinstance(url, str):
        return url
    url = re.sub(r"^([^:]*://[^:@/?#]*):.*@", r"\1:***@", url, flags=re.DOTALL)
    return re.sub(r"(password=)[^&]*", r"\1***", url, flags=re.IGNORECASE)
