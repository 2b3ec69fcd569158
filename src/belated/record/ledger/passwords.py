"""Passwords are never shown."""

from __future__ import annotations

import re

PASSWORD = "".join(f"(?:{c}|%{ord(c):x}|%{ord(c.upper()):x})" for c in "password")  # as a url may spell it


def mask_password(url: object) -> object:
    """The url without its password, for every message; what might be a password counts as one.

    Nothing after a colon (that of :// aside) and before an @ is shown, and no value of a parameter called password."""
    if not isinstance(url, str):
        return url
    flags = re.DOTALL | re.IGNORECASE
    url = re.sub(r"\A((?:[^:]*://)?+(?:(?!%3a)[^:])*)(?::|%3a).*(@|%40)", r"\1:***\2", url, flags=flags)
    return re.sub(rf"({PASSWORD}\s*=\s*)[^&]*", r"\1***", url, flags=flags)
