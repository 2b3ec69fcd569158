"""Tokens: who may do what. They are kept hashed, in the store's own database, so that several servers are equal.

A token is belated_ID_SECRET. ID finds its row, SECRET is 32 random bytes, of which the row has the SHA-256; that is
right for random secrets, and would not be for passwords. A sign-in code and a browser's session are rows too: a code
can be used once, and a session ends with the token that it was made from."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from belated.errors import InvalidInput, Unavailable
from belated.record.ledger import Store
from belated.record.ledger.sqlite import TOKENS, SQLiteStore
from belated.settings import LONGEST_PERSON
from belated.validation import format_names, format_value, require_words

Scope = Literal["read", "tell", "ask", "own"]
SCOPES: tuple[Scope, ...] = get_args(Scope)  # each may do what those before it may
TokenKind = Literal["token", "code", "session"]
WRITTEN_AS = re.compile(r"belated_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
TABLE = TOKENS
TABLE_LOCK = 0x62656C62  # of PostgreSQL: held while the table is made
MAKE = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
    id TEXT PRIMARY KEY, hash TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, scope TEXT NOT NULL, study TEXT,
    made_at DOUBLE PRECISION NOT NULL, expires_at DOUBLE PRECISION, used_at DOUBLE PRECISION, parent TEXT
)
"""
COLUMNS = ("id", "hash", "kind", "name", "scope", "study", "made_at", "expires_at", "used_at", "parent")
READ = f"SELECT {', '.join(COLUMNS)} FROM {TABLE}"  # noqa: S608


@dataclass(frozen=True, kw_only=True)
class TokenRow:
    """What is kept of a token."""

    id: str
    hash: str
    kind: TokenKind
    name: str
    scope: Scope
    study: str | None  # the id of the only study that it is for; None: all
    made_at: float
    expires_at: float | None
    used_at: float | None = None
    parent: str | None = None  # the token that a session was made from

    def allows(self, scope: Scope) -> bool:
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    def has_expired(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at


def hash_secret(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _make_in_turn(connection: Any) -> None:
    """Two servers may start at once."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (TABLE_LOCK,))
        connection.execute(MAKE)


class TokenTable:
    """The tokens of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made = False

    def make(
        self,
        name: str,
        scope: Scope,
        *,
        kind: TokenKind = "token",
        study: str | None = None,
        lasts: float | None = None,
        parent: str | None = None,
    ) -> tuple[str, TokenRow]:
        """A new token, as text, which is shown once, and what is kept of it."""
        who = require_words(name, "name", LONGEST_PERSON)
        if who is None or scope not in SCOPES:
            raise InvalidInput(f"scope must be one of {', '.join(SCOPES)} (got {format_value(scope)})")
        identity, secret, now = secrets.token_hex(6), secrets.token_urlsafe(32), time.time()
        text = f"belated_{identity}_{secret}"
        row = TokenRow(
            id=identity,
            hash=hash_secret(text),
            kind=kind,
            name=who,
            scope=scope,
            study=study,
            made_at=now,
            expires_at=None if lasts is None else now + lasts,
            parent=parent,
        )
        marks = ", ".join(["?"] * len(COLUMNS))
        self._change(f"INSERT INTO {TABLE} VALUES ({marks})", [getattr(row, column) for column in COLUMNS])  # noqa: S608
        return text, row

    def find(self, text: str) -> TokenRow | None:
        """What is kept of a token, if it is one and has not expired."""
        written = WRITTEN_AS.fullmatch(text)
        rows = self._fetch(f"{READ} WHERE id = ?", [written[1]]) if written else []
        row = rows[0] if rows else None
        same = hmac.compare_digest(hash_secret(text), row.hash if row else "0" * 64)
        if row is None or not same or row.has_expired(time.time()):
            return None
        if row.parent is not None:  # a session ends with its token
            parents = self._fetch(f"{READ} WHERE id = ?", [row.parent])
            if not parents or parents[0].has_expired(time.time()):
                return None
        return row

    def use_code(self, text: str) -> TokenRow | None:
        """A code that is used now, for the first and last time."""
        row = self.find(text)
        if row is None or row.kind != "code":
            return None
        return row if self._change(f"DELETE FROM {TABLE} WHERE id = ?", [row.id]) == 1 else None  # noqa: S608

    def end_session(self, row: TokenRow) -> None:
        self._change(f"DELETE FROM {TABLE} WHERE id = ? AND kind = 'session'", [row.id])  # noqa: S608

    def note_use(self, row: TokenRow) -> TokenRow:
        now = time.time()
        self._change(f"UPDATE {TABLE} SET used_at = ? WHERE id = ?", [now, row.id])  # noqa: S608
        return replace(row, used_at=now)

    def list_tokens(self) -> Sequence[TokenRow]:
        """Every token, by name; not those that have expired, which are removed here."""
        self._change(f"DELETE FROM {TABLE} WHERE expires_at < ?", [time.time()])  # noqa: S608
        return self._fetch(f"{READ} WHERE kind = 'token' ORDER BY name, made_at", [])

    def revoke(self, name: str) -> int:
        """End the tokens of this name, or the one of this id, with their sessions; how many there were."""
        found = [row for row in self.list_tokens() if name in (row.name, row.id)]
        if not found:
            known = format_names(sorted({row.name for row in self.list_tokens()})) or "none"
            raise InvalidInput(f"there is no token {format_value(name)}; there are {known}")
        for row in found:
            self._change(f"DELETE FROM {TABLE} WHERE id = ? OR parent = ?", [row.id, row.id])  # noqa: S608
        return len(found)

    def _fetch(self, query: str, words: Sequence[object]) -> list[TokenRow]:
        found: Sequence[Sequence[Any]]
        if isinstance(self._store, SQLiteStore):
            made = self._made or self._store.fetch("SELECT 1 FROM sqlite_master WHERE name = ?", TABLE)
            found = self._store.fetch(query, *words) if made else []
        else:
            self._make_table()
            found = self._run(lambda c: c.execute(query.replace("?", "%s"), words).fetchall())
        return [TokenRow(**dict(zip(COLUMNS, row, strict=True))) for row in found]

    def _change(self, query: str, words: Sequence[object]) -> int:
        """Change the table; how many rows."""
        self._make_table()
        if isinstance(self._store, SQLiteStore):
            with self._store.lock_writes() as connection:
                return connection.execute(query, tuple(words)).rowcount
        return int(self._run(lambda c: c.execute(query.replace("?", "%s"), words).rowcount))

    def _make_table(self) -> None:
        if self._made:
            return
        if isinstance(self._store, SQLiteStore):
            with self._store.lock_writes() as connection:
                connection.execute(MAKE)
        else:
            self._run(_make_in_turn)
        self._made = True

    def _run(self, work: Any) -> Any:
        run = getattr(self._store, "run", None)
        if run is None:
            raise Unavailable("tokens are kept where the studies are: in a SQLite file or in PostgreSQL")
        return run(work)
