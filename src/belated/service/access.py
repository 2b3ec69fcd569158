"""Who asks, and what they may do: by a token in a header, by a browser's cookie, or because the server is open."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from dataclasses import dataclass
from typing import Any, Literal, NoReturn
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from belated.errors import NotAllowed, NotSignedIn, UnknownStudy
from belated.service.limits import Slowdown
from belated.service.served import ServedStudies
from belated.service.tokens import Scope, TokenRow, TokenTable
from belated.validation import format_names, format_value

COOKIE = "belated"
CSRF_HEADER = "Belated-CSRF"
KNOWN_FOR = 5.0  # seconds that a token is known without asking the database again
NOTED_EVERY = 60.0  # seconds between two notes of when a token was used
SAFE = ("GET", "HEAD", "OPTIONS")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Person:
    """Who asks."""

    name: str | None  # signs every event; None: nobody in particular
    scope: Scope
    study: str | None  # the id of the only study that is theirs; None: all
    via: Literal["token", "cookie", "open"]
    row: TokenRow | None = None
    csrf: str = ""  # what a form of a page has to send along

    def may_see(self, identity: str | None) -> bool:
        return identity is not None and self.study in (None, identity)


class Access:
    """What finds out who asks."""

    def __init__(self, studies: ServedStudies, tokens: TokenTable, *, open_to_all: bool = False) -> None:
        self.studies, self.tokens, self.open_to_all = studies, tokens, open_to_all
        self.slowdown = Slowdown()
        self._known: dict[str, tuple[float, TokenRow]] = {}
        self._lock = threading.Lock()

    def find_person(self, connection: HTTPConnection) -> Person:
        """Whoever asks; NotSignedIn where nobody is known."""
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        if scheme:
            row = self._find_row(given.strip()) if scheme.lower() == "bearer" else None
            if row is None or row.kind != "token":
                self._refuse(connection)
            return Person(row.name, row.scope, row.study, "token", row)
        cookie = connection.cookies.get(name_cookie(connection))
        row = self._find_row(cookie) if cookie else None
        if cookie and row is not None and row.kind == "session":
            person = Person(row.name, row.scope, row.study, "cookie", row, make_csrf(cookie))
            self._check_origin(connection, person)
            return person
        if self.open_to_all:
            if read_host(connection)[0] not in LOOPBACK:
                raise NotAllowed("this server is open on its own machine only: http://127.0.0.1")
            person = Person(None, "own", None, "open", csrf="open")
            self._check_origin(connection, person)
            return person
        if cookie:
            self._refuse(connection)
        raise NotSignedIn

    def require_scope(self, person: Person, scope: Scope) -> None:
        order = ("read", "tell", "ask", "own")
        if order.index(person.scope) < order.index(scope):
            raise NotAllowed(f"this token may {person.scope}, and that needs one that may {scope}")

    def require_all(self, person: Person) -> None:
        if person.study is not None:
            raise NotAllowed("this token is for one study, and that needs one that is for all")

    def find_study(self, person: Person, study: str) -> str:
        """The id of a study that somebody may see; for others it is as if it were not there."""
        identity = self.studies.find_identity(study)
        if identity is None or not person.may_see(identity):
            there = format_names(name for name, origin, _ in self.list_seen(person)) or "none"
            raise UnknownStudy(f"there is no study {format_value(study)}; there are {there}")
        return identity

    def list_seen(self, person: Person) -> list[Any]:
        """Name, origin and head of the studies that somebody may see."""
        return [each for each in self.studies.list_heads() if person.may_see(each[1].identity)]

    def forget(self) -> None:
        """Ask the database again about every token."""
        with self._lock:
            self._known.clear()

    def _find_row(self, text: str) -> TokenRow | None:
        digest, now = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(), time.monotonic()
        with self._lock:
            when, row = self._known.get(digest, (-KNOWN_FOR, None))
        if row is not None and now - when < KNOWN_FOR:
            return None if row.has_expired(time.time()) else row
        found = self.tokens.find(text)
        if found is not None and time.time() - (found.used_at or 0.0) > NOTED_EVERY:
            found = self.tokens.note_use(found)
        with self._lock:
            self._known.pop(digest, None)
            if found is not None:
                self._known[digest] = (now, found)
            while len(self._known) > 10_000:
                self._known.pop(next(iter(self._known)))
        return found

    def _refuse(self, connection: HTTPConnection) -> NoReturn:
        address = find_address(connection)
        self.slowdown.check(address)
        self.slowdown.note_failure(address)
        raise NotSignedIn

    def _check_origin(self, connection: HTTPConnection, person: Person) -> None:
        """A browser sends its cookie along with what another site asks for; so a page's own script says more."""
        if connection.scope.get("method", "GET") in SAFE:
            return
        refuse_other_sites(connection)
        if person.via == "cookie":
            sent = connection.headers.get(CSRF_HEADER, "")
            own = hmac.compare_digest(sent.encode(), person.csrf.encode())
            if "origin" not in connection.headers or not own:
                raise NotAllowed(f"a page must send its own {CSRF_HEADER} with what it changes; load the page again")


def refuse_other_sites(connection: HTTPConnection) -> None:
    """Refuse what a browser says that another site's page has sent."""
    origin = connection.headers.get("origin")
    foreign = origin is not None and origin.partition("://")[2] != connection.headers.get("host", "")
    if foreign or connection.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotAllowed("this came from another site's page, and was refused")


def read_host(connection: HTTPConnection) -> tuple[str | None, int | None]:
    """The name and the port by which somebody calls this server."""
    try:
        parts = urlsplit(f"//{connection.headers.get('host', '')}")
        return parts.hostname, parts.port
    except ValueError:
        return None, None


def name_cookie(connection: HTTPConnection) -> str:
    """A browser has one set of cookies for all ports of a machine; so each server there has a name of its own."""
    port = read_host(connection)[1]
    return COOKIE if port is None else f"{COOKIE}-{port}"


def make_csrf(cookie: str) -> str:
    """What a page sends along with what it changes: nobody can work it out without the cookie."""
    return hashlib.sha256(b"belated-csrf:" + cookie.encode("utf-8", "replace")).hexdigest()


def find_address(connection: HTTPConnection) -> str:
    return connection.client.host if connection.client else "unknown"
