"""Calls to a server, by the standard library alone. Connections are kept open, and made again if they are lost.

A call that changes something has a key, the same in every attempt, so that it may be tried again when its answer was
lost: the server does it once. After some seconds without an answer a call gives up."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import secrets
import ssl
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from belated.errors import CODES, BelatedError, InvalidInput, ServerFault, TooBusy, Unreachable, WorkerLost
from belated.patience import parse_duration
from belated.record.locks import renew_in_children
from belated.validation import format_value
from belated.version import __version__

TIME = "Belated-Time"  # the server's clock, with every answer
STUDY = "Belated-Study"  # what a study is called, with the answer of each of its verbs
FILE = "application/octet-stream"  # the type of a body that is a file
KEY = "Idempotency-Key"  # the same in every attempt at one call
TOKEN = "BELATED_TOKEN"  # noqa: S105  (the variable of the environment that holds it)
MADE = "call-"  # begins the keys that a client makes
BY_IDENTITY = "id:"  # before a study's id, where its name could stand: it stays the same when the study is renamed
PAGE = 1000  # events in one answer
GIVES_UP = 10.0  # seconds after which a call gives up
PATIENCE_NAME = "BELATED_SERVER_TIMEOUT"  # the variable of the environment that says otherwise, such as 30s
PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5)  # seconds between attempts; the last one again and again
LONGEST_ANSWER = 600.0  # seconds that the answer to a file may take
LOST = (OSError, http.client.HTTPException, EOFError)
TLS = {
    "CERTIFICATE_VERIFY_FAILED": "the certificate of {} is not trusted",
    "WRONG_VERSION_NUMBER": "{} does not speak TLS; is its address http://...?",
}


def write_json(plain: Any) -> bytes:
    return json.dumps(plain, allow_nan=False, separators=(",", ":")).encode()


def error_from_dict(plain: Mapping[str, Any]) -> BelatedError:
    """The error that a server answered with."""
    return CODES.get(str(plain.get("code")), ServerFault)(str(plain.get("message", "")))


class Replied:
    """An answer: its status, and its body as plain values."""

    def __init__(self, status: int, plain: Any, study: str | None) -> None:
        self.status, self.plain = status, plain
        self.study = study  # what the study is called now


class ServerConnection:
    """A server by its url, and who asks."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url, self.shown = _check_url(url)
        parts = urlsplit(self.url)
        self._secure, self._host = parts.scheme == "https", parts.netloc
        self._prefix = parts.path.rstrip("/")
        self._token = _check_token(token if token is not None else os.environ.get(TOKEN) or None)
        stated = os.environ.get(PATIENCE_NAME)
        self.gives_up = GIVES_UP if not stated else parse_duration(stated, PATIENCE_NAME)
        self._offset: float | None = None  # of the server's clock to time.monotonic()
        self._idle: list[http.client.HTTPConnection] = []  # connections that are not in use
        weakref.finalize(self, _close_connections, self._idle)
        renew_in_children(self, ServerConnection.close)  # a forked child must not use its parent's

    @property
    def has_token(self) -> bool:
        return self._token is not None

    @contextlib.contextmanager
    def wait_longer(self, seconds: float) -> Iterator[None]:
        """Give up later, in this block."""
        before, self.gives_up = self.gives_up, max(seconds, self.gives_up)
        try:
            yield
        finally:
            self.gives_up = before

    def read_clock(self) -> float:
        """The server's time."""
        if self._offset is None:
            self.call("GET", "/healthz")
        return time.monotonic() + (self._offset or 0.0)

    def get(self, path: str, **query: Any) -> Any:
        """Look at something."""
        return self.call("GET", path + _write_query(query))

    def post(
        self,
        path: str,
        plain: Mapping[str, Any],
        *,
        done: type[BelatedError] | None = None,
        note_name: Callable[[str], object] = lambda name: None,
    ) -> Any:
        """Change something, once.

        done       what the server answers if it was done before
        note_name  is told what the study is called now"""
        return self.call("POST", path, write_json(plain), f"{MADE}{secrets.token_urlsafe(18)}", done, note_name)

    def post_file(self, path: str, file: Path, query: Mapping[str, Any]) -> Any:
        """Send a file, piece by piece. It may be sent again: so what is done with it must be done once."""
        return self.call("POST", path + _write_query(query), file)

    def call(
        self,
        method: str,
        path: str,
        body: bytes | Path | None = None,
        key: str | None = None,
        done: type[BelatedError] | None = None,
        note_name: Callable[[str], object] = lambda name: None,
    ) -> Any:
        """The answer to a call, as plain values; the error that the server raised; or Unreachable, after a while."""
        begun, attempt, reason = time.monotonic(), 0, ""
        refusal: BelatedError | None = None
        while True:
            left = begun + self.gives_up - time.monotonic()
            try:
                reply = self._try(method, path, body, key, max(left, 0.05))
            except LOST as error:
                self.close()  # the others are lost too
                _refuse_without_tls(error, self.shown)
                refusal, reason = None, " ".join(str(error).split()) or type(error).__name__
            else:
                if reply.status < 400:
                    if reply.study is not None:
                        note_name(unquote(reply.study))
                    return reply.plain
                refusal = _read_refusal(reply, self.shown)
                if attempt and done is not None and isinstance(refusal, done):
                    return None
                if not isinstance(refusal, TooBusy | WorkerLost | Unreachable):
                    raise refusal
            pause = PAUSES[min(attempt, len(PAUSES) - 1)]
            attempt += 1
            if time.monotonic() + pause - begun >= self.gives_up:
                break
            time.sleep(pause)
        if refusal is not None:
            raise refusal
        unsure = "; it may have been done: the same call, with the same key, finds that out" if method == "POST" else ""
        raise Unreachable(f"the server {self.shown} gave no answer in {self.gives_up:g} s ({reason}){unsure}")

    def close(self) -> None:
        """Close connections that are not in use; the next call opens one again."""
        _close_connections(self._idle)

    def _try(self, method: str, path: str, body: bytes | Path | None, key: str | None, timeout: float) -> Replied:
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": f"belated/{__version__}"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers["Content-Type"] = "application/json" if isinstance(body, bytes) else FILE
        if key is not None:
            headers[KEY] = key
        with body.open("rb") if isinstance(body, Path) else contextlib.nullcontext(body) as sent:
            if isinstance(body, Path):
                headers["Content-Length"] = str(body.stat().st_size)
            return self._exchange(self._take(timeout), method, path, sent, headers)

    def _exchange(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> Replied:
        """Send a call, and read its answer. A server may refuse a file before it has read all of it."""
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, self._prefix + path, body, headers)
            answer = connection.getresponse()
            raw = answer.read()
        except BaseException:
            connection.close()
            raise
        if answer.getheader("Connection", "").lower() == "close":
            connection.close()
        else:
            self._idle.append(connection)
        if answer.getheader("Content-Encoding") == "gzip":
            raw = gzip.decompress(raw)
        now = answer.getheader(TIME)
        if now is not None:
            with contextlib.suppress(ValueError):
                self._offset = float(now) - time.monotonic()
        return Replied(answer.status, _parse(raw, answer.getheader("Content-Type", "")), answer.getheader(STUDY))

    def _take(self, timeout: float) -> http.client.HTTPConnection:
        """A connection for this call alone."""
        with contextlib.suppress(IndexError):
            found = self._idle.pop()
            found.timeout = timeout
            if found.sock is not None:
                found.sock.settimeout(timeout)
            return found
        if self._secure:
            return http.client.HTTPSConnection(self._host, timeout=timeout, context=ssl.create_default_context())
        return http.client.HTTPConnection(self._host, timeout=timeout)


def _refuse_without_tls(error: Exception, url: str) -> None:
    """What trying again would not help against."""
    said = TLS.get(getattr(error, "reason", None) or "") if isinstance(error, ssl.SSLError) else None
    if said is not None:
        more = getattr(error, "verify_message", "")
        raise Unreachable(said.format(f"the server {url}") + (f" ({more})" if more else "")) from None


def _close_connections(connections: list[http.client.HTTPConnection]) -> None:
    while connections:
        with contextlib.suppress(IndexError):
            connections.pop().close()


def make_path(study: str, *words: str) -> str:
    """The address of something of a study."""
    return "/".join(["/api/studies", quote(study, safe=":"), *words])


def _write_query(query: Mapping[str, Any]) -> str:
    """What stands behind an address; of a list, each for itself."""
    given = {name: value if isinstance(value, list) else [value] for name, value in query.items() if value is not None}
    words = [(name, _write_word(each)) for name, values in given.items() for each in values]
    return f"?{urlencode(words)}" if words else ""


def _write_word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else json.dumps(value)


def _parse(raw: bytes, kind: str) -> Any:
    if not kind.startswith("application/json"):
        return raw.decode("utf-8", "replace")
    try:
        return json.loads(raw)
    except ValueError:
        raise http.client.HTTPException("its answer is no JSON") from None


def _read_refusal(reply: Replied, shown: str) -> BelatedError:
    plain = reply.plain
    if isinstance(plain, Mapping) and isinstance(plain.get("error"), Mapping):
        return error_from_dict(plain["error"])
    if reply.status in (429, 502, 503, 504):
        return Unreachable(f"the server {shown} cannot be reached (status {reply.status})")
    return ServerFault(f"{shown} is not a server of belated's (it answered with status {reply.status})")


def _check_url(url: str) -> tuple[str, str]:
    """The url without what does not belong to it, and as messages show it."""
    parts = urlsplit(url)
    try:
        parts.port  # noqa: B018  (raises where it is no number)
        understood = bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        understood = False
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("a server's url has no user and no password: give token=, or set BELATED_TOKEN")
    if not understood:
        raise InvalidInput(f"a server's url must be https://host or http://host:port (got {format_value(url)})")
    plain = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    return plain, plain


def _check_token(token: str | None) -> str | None:
    if token is not None and not (isinstance(token, str) and token and token.isascii() and token.isprintable()):
        raise InvalidInput("token must be text, as belated token new printed it")  # and is not shown
    return token
