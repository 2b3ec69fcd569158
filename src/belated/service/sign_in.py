"""Signing in: a code that works once, or a token, is exchanged for a browser's cookie."""

from __future__ import annotations

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from belated.errors import InvalidInput, NotSignedIn
from belated.record.ledger.calls import write_json
from belated.service.access import Access, find_address, make_csrf, name_cookie, refuse_other_sites
from belated.service.tokens import TokenRow

CODE_LASTS = 300.0  # seconds
SESSION_LASTS = 30 * 86400.0
REFUSED = (
    "this token or code is not known: a token may have been revoked; a code works once, within five minutes, and "
    "belated serve prints a new one when it starts"
)


def make_code(access: Access, name: str) -> str:
    """A code for the owner of the store, to print."""
    text, _ = access.tokens.make(name, "own", kind="code", lasts=CODE_LASTS)
    return text


def sign_in(access: Access, request: Request, plain: dict[str, Any]) -> Response:
    """The cookie of a new session, for a code or a token."""
    refuse_other_sites(request)  # else another site's page could make somebody work in its author's name
    code = plain.get("code")
    if not isinstance(code, str):
        raise InvalidInput("code must be given, as text")
    address = find_address(request)
    access.slowdown.check(address)
    row = access.tokens.use_code(code.strip()) or _find_token(access, code.strip())
    if row is None:
        access.slowdown.note_failure(address)
        raise NotSignedIn(REFUSED)
    access.slowdown.forget(address)
    parent = row.id if row.kind == "token" else None
    lasts = SESSION_LASTS if row.expires_at is None or row.kind == "code" else row.expires_at - time.time()
    cookie, _ = access.tokens.make(
        row.name, row.scope, kind="session", study=row.study, lasts=min(lasts, SESSION_LASTS), parent=parent
    )
    answer = {"name": row.name, "scope": row.scope, "csrf": make_csrf(cookie)}
    response = Response(write_json(answer), media_type="application/json")
    response.set_cookie(
        name_cookie(request),
        cookie,
        max_age=int(SESSION_LASTS),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    return response


def sign_out(access: Access, request: Request) -> Response:
    """End this session."""
    cookie = request.cookies.get(name_cookie(request))
    row = access.tokens.find(cookie) if cookie else None
    if row is not None and row.kind == "session":
        access.tokens.end_session(row)
        access.forget()
    response = Response(b"null", media_type="application/json")
    forget_cookie(request, response)
    return response


def forget_cookie(request: Request, response: Response) -> None:
    """Let the browser forget a cookie: it is not known any longer, and each time that it came would be a failure."""
    name = name_cookie(request)
    if name in request.cookies:
        response.delete_cookie(name, path="/", httponly=True, samesite="strict")


def _find_token(access: Access, text: str) -> TokenRow | None:
    row = access.tokens.find(text)
    return row if row is not None and row.kind == "token" else None
