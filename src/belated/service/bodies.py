"""What comes in: JSON read strictly, queries of an address, and the arguments of a verb made of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from belated.cli.io.cells import parse_time
from belated.cli.io.files import parse_json
from belated.errors import InvalidInput, TooLarge
from belated.results import Trial
from belated.validation import format_names, format_value

DEEPEST = 64  # brackets inside brackets


async def read_body(request: Request, most: int) -> bytes:
    """The body of a call, if it is not too long."""
    return b"".join([piece async for piece in read_pieces(request, most)])


async def receive_file(request: Request, path: Path, most: int) -> None:
    """Write the body of a call to a file, piece by piece, if it is not too long."""
    with path.open("wb") as file:
        async for piece in read_pieces(request, most):
            await run_in_threadpool(file.write, piece)


async def read_pieces(request: Request, most: int) -> AsyncIterator[bytes]:
    """The body of a call as it comes, as long as it is not too long."""
    stated = request.headers.get("content-length", "")
    size, got = 0, stated if stated.isdigit() else "more"
    if stated.isdigit() and int(stated) > most:
        raise TooLarge(f"a body may have {most} bytes (got {got})")
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise TooLarge(f"a body may have {most} bytes (got {got})")
        yield piece


def read_object(body: bytes, content_type: str | None) -> dict[str, Any]:
    """The JSON object of a body; nothing counts as an empty one."""
    if not body:
        return {}
    if content_type is not None and content_type.split(";")[0].strip().lower() != "application/json":
        raise InvalidInput(f"the body must be JSON: Content-Type: application/json (got {format_value(content_type)})")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the body must be UTF-8 (byte {error.start} is not)") from None
    plain = parse_json(text)
    if not isinstance(plain, dict):
        raise InvalidInput(f"the body must be a JSON object (got {format_value(plain)})")
    _check_depth(plain)
    return plain


def _check_depth(plain: Any, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise InvalidInput("this JSON is nested too deeply")
    inner: Iterable[Any] = plain.values() if isinstance(plain, dict) else plain if isinstance(plain, list) else ()
    for each in inner:
        _check_depth(each, depth + 1)


def check_fields(plain: Mapping[str, Any], fields: Iterable[str], required: Iterable[str] = ()) -> None:
    """Refuse fields that a verb does not have, and missing ones."""
    known = list(fields)
    for name in plain:
        if name not in known:
            raise InvalidInput(f"{format_names([name])}: there is no such field (the fields are {format_names(known)})")
    for name in required:
        if plain.get(name) is None:
            raise InvalidInput(f"{name} must be given")


def _read_trial(plain: Any) -> Any:
    """A trial by its number; or with its params as well, which must then be those that were asked."""
    if isinstance(plain, list):
        return [_read_trial(each) for each in plain]
    if not isinstance(plain, dict):
        return plain
    check_fields(plain, ("number", "params", "asked_params"), ("number", "params"))
    return Trial(
        number=plain["number"],
        params=plain["params"],
        asked_params=plain.get("asked_params"),
        asked_at=0.0,
        status="pending",
    )


def _read_moment(plain: Any) -> Any:
    return parse_time(plain) if isinstance(plain, str) else plain


def _read_pair(plain: Any) -> Any:
    return tuple(plain) if isinstance(plain, list) else plain


def _read_rows(plain: Any) -> Any:
    if not isinstance(plain, list) or not all(isinstance(row, dict) for row in plain):
        raise InvalidInput(f"rows must be a list of objects (got {format_value(plain)})")
    readers = {"trial": _read_trial, "at": _read_moment, "as_of": _read_moment}
    return [{name: readers[name](each) if name in readers else each for name, each in row.items()} for row in plain]


READERS: dict[str, Callable[[Any], Any]] = {
    "trial": _read_trial,
    "at": _read_moment,
    "since": _read_moment,
    "until": _read_moment,
    "limits": _read_pair,
    "rows": _read_rows,
}


def read_arguments(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a method, of the fields of a body; null is as if it were left out."""
    given = {name: each for name, each in plain.items() if each is not None}
    return {name: READERS[name](each) if name in READERS else each for name, each in given.items()}


def read_query(
    request: Request, fields: Mapping[str, Callable[[str, str], Any]], several: Collection[str] = ()
) -> dict[str, Any]:
    """What stands behind the ? of an address. Of those named in `several` there may be more than one: a list."""
    request.state.fields = [*fields, *request.path_params]
    pairs = request.query_params.multi_items()
    check_fields(dict(pairs), fields)
    found: dict[str, Any] = {}
    for name, text in pairs:
        value = fields[name](text, name)
        if name in several:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise InvalidInput(f"{name} must be given once")
        else:
            found[name] = value
    return found


def parse_whole(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InvalidInput(f"{what} must be a whole number, 0 or more (got {format_value(text)})")
    return int(text)


def parse_number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{what} must be a number (got {format_value(text)})") from None


def parse_words(text: str, what: str) -> str:
    if not text.isprintable():
        raise InvalidInput(f"{what} must be printable (got {format_value(text)})")
    return text


def parse_lines(text: str, what: str) -> str:
    """Text as it is; whoever takes it checks it."""
    return text


def parse_flag(text: str, what: str) -> bool:
    if text not in ("true", "false"):
        raise InvalidInput(f"{what} must be true or false (got {format_value(text)})")
    return text == "true"


def parse_object(text: str, what: str) -> Any:
    plain = parse_json(text)
    if not isinstance(plain, dict):
        raise InvalidInput(f"{what} must be a JSON object (got {format_value(text)})")
    return plain


def parse_moment(text: str, what: str) -> Any:
    return parse_time(text, what)
