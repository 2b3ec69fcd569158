"""Passwords are never shown."""

from __future__ import annotations

import re

PASSWORD = "".join(f"(?:{c}|%{ord(c):x}|%{ord(c.upper()):x})" for c in "password")  # as a url may spell it

PORT = r"\d{1,5}(?=[,/?]|\Z)"
HOST = rf"(?:\[[^]]*\]|(?!%3a)[^:/?\[]|:{PORT})*?"  # or several, with ports; [::1] is one


def mask_password(url: object) -> object:
    """The url without its password, for every message; what might be a password counts as one.

    Nothing after a colon (that of :// aside) and before an @ is shown, and no value of a parameter called password.
    Where the @ is missing, nothing after a colon is shown that is not a port; a SQLite url has no passwords."""
    if not isinstance(url, str):
        return url
    flags = re.DOTALL | re.IGNORECASE
    url = re.sub(r"\A((?:[^:]*://)?+(?:(?!%3a)[^:])*)(?::|%3a).*(@|%40)", r"\1:***\2", url, flags=flags)
    if not re.search("@|%40", url) and not url.startswith("sqlite:"):
        url = re.sub(rf"\A((?:[^:]*://)?+{HOST})(?::|%3a)(?!{PORT}).*", r"\1:***", url, flags=flags)
    return re.sub(rf"({PASSWORD}\s*=\s*)[^&]*", r"\1***", url, flags=flags)
