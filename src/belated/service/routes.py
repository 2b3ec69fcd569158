"""The addresses of the API, and the OpenAPI document's word on each."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from belated.cli.io.rows import format_csv, format_json_lines
from belated.errors import InvalidInput, WorkerLost
from belated.record.events import KINDS
from belated.record.ledger.calls import BY_IDENTITY, FILE, KEY, STUDY, write_json
from belated.record.ledger.chain import Entry, Head, Tombstone
from belated.record.ledger.shelf import Shelf
from belated.remote.wire import to_plain
from belated.service import schemas
from belated.service.access import Person
from belated.service.bodies import (
    parse_flag,
    parse_whole,
    parse_words,
    read_body,
    read_object,
    read_query,
    receive_file,
)
from belated.service.core import Service, sign
from belated.service.creating import create_study
from belated.service.served import ServedStudy
from belated.service.verbs import LOOKS, WRITING, Verb, do_job
from belated.service.workers import Job
from belated.validation import format_value

STATUSES = ("pending", "heard", "late", "expired", "failed", "counted")
PIECE = 65536  # characters of a file that is sent
LINES = "application/x-ndjson"
ORDERS = ("number", "-number", "outcome", "-outcome")
STUDY_PARAMETER = {
    "name": "study",
    "in": "path",
    "required": True,
    "description": "a study's name; or id: and its id, which stays when it is renamed",
    "schema": {"type": "string", "pattern": "^[^/]+$", "maxLength": 128},
    "example": "catalyst",
}
KEY_PARAMETER = {
    "name": KEY,
    "in": "header",
    "required": False,
    "description": "the same in every attempt at one call; then it is done once",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    400: {"description": "bad input; the message says the rule and the value"},
    401: {"description": "no token, or none that is known"},
    403: {"description": "the token may not do that"},
    404: {"description": "there is no such study or trial, or the token may not see it"},
    409: {"description": "it contradicts what is recorded"},
    410: {"description": "the study was deleted"},
    413: {"description": "too much at once"},
    429: {"description": "too often"},
    500: {"description": "a fault of the server"},
    501: {"description": "something is not installed on the server"},
    503: {"description": "too busy, or the store cannot be reached; Retry-After says when to try again"},
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {**said, "content": {"application/json": {"schema": schemas.ERROR}}} for status, said in ANSWERS.items()
}
SECURITY: list[dict[str, list[str]]] = [{"token": []}, {"cookie": []}, {}]

Endpoint = Callable[[Request], Awaitable[Response]]


def answer_json(plain: Any, status: int = 200) -> Response:
    return Response(write_json(plain), status, media_type="application/json")


def answer_tagged(request: Request, body: bytes, media_type: str = "application/json") -> Response:
    """An answer that is not sent again as long as it is the same."""
    tag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    known = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    if tag in known:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=media_type)


def read_key(request: Request) -> str | None:
    """The key of a call, if its client gave one."""
    key = request.headers.get(KEY)
    if key is not None and not (0 < len(key) <= 128 and key.isascii() and key.isprintable()):
        raise InvalidInput(f"{KEY} must be 1 to 128 printable ASCII characters (got {format_value(key)})")
    return key


def describe(
    answer: Mapping[str, Any],
    query: Mapping[str, Any] | None = None,
    *,
    required: tuple[str, ...] = (),
    of_study: bool = True,
    kinds: tuple[str, ...] = ("application/json",),
) -> dict[str, Any]:
    """What the OpenAPI document says of an address."""
    parameters: list[Any] = [STUDY_PARAMETER] if of_study else []
    for name, schema in (query or {}).items():
        parameters.append({"name": name, "in": "query", "required": name in required, "schema": schema})
    return {
        "parameters": parameters,
        "security": SECURITY,
        "responses": {"200": {"description": "done", "content": {kind: {"schema": answer} for kind in kinds}}},
    }


def describe_file(example: str) -> dict[str, Any]:
    """A body that is a file."""
    schema = {"type": "string", "format": "binary"}
    return {"requestBody": {"required": True, "content": {FILE: {"schema": schema, "example": example}}}}


def describe_body(fields: Mapping[str, Any], required: tuple[str, ...], example: Mapping[str, Any]) -> dict[str, Any]:
    nullable = {name: {"anyOf": [schema, schemas.NOTHING]} for name, schema in fields.items()}
    properties = {name: fields[name] if name in required else nullable[name] for name in fields}
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    content = {"application/json": {"schema": schema, "example": dict(example)}}
    return {"requestBody": {"required": bool(required), "content": content}}


def make_router(service: Service) -> APIRouter:
    """Every address under /api."""
    router = APIRouter(prefix="/api", responses=ERRORS)

    def add(path: str, method: str, name: str, about: str, endpoint: Endpoint, extra: Mapping[str, Any]) -> None:
        route = _note_name(endpoint, name)
        router.add_api_route(
            path,
            route,
            methods=[method],
            name=name,
            operation_id=name,
            summary=about,
            response_class=Response,
            openapi_extra=dict(extra),
        )

    def open_study(request: Request) -> tuple[Person, ServedStudy]:
        """Who asks, and the study, if they may see it."""
        person = find_person(service, request)
        return person, service.studies.open(service.access.find_study(person, request.path_params["study"]))

    async def read_study(request: Request) -> tuple[Person, ServedStudy]:
        return await run_in_threadpool(open_study, request)

    # Studies ----------------------------------------------------------------------------------------------------------

    async def list_studies(request: Request) -> Response:
        def work() -> Response:
            person = find_person(service, request)
            query = read_query(request, {"tombstones": parse_flag})
            seen = service.access.list_seen(person)
            plain: dict[str, Any] = {
                "studies": [
                    {
                        "name": name,
                        "id": origin.identity,
                        "position": head.position,
                        "hash": head.hash.hex(),
                        "spec": origin.spec,
                        "sealed": origin.sealed,
                    }
                    for name, origin, head in seen
                ]
            }
            if query.get("tombstones") and person.study is None:
                gone = service.studies.store.use_studies(Shelf.list_tombstones)
                plain["tombstones"] = [write_tombstone(each) for each in gone]
            return answer_tagged(request, write_json(plain))

        return await run_in_threadpool(work)

    async def create(request: Request) -> Response:
        body = await read_body(request, service.limits.body)

        def work() -> Response:
            person = find_person(service, request)
            service.access.require_scope(person, "own")
            if person.study is not None:
                service.access.require_all(person)
            plain = read_object(body, request.headers.get("content-type"))
            request.state.fields = list(schemas.SETTINGS)
            name = create_study(service.studies, plain, sign(person, plain)["by"])
            study = service.studies.open(service.access.find_study(person, name))
            return answer_json(describe_study(service, study))

        return await run_in_threadpool(work)

    async def show(request: Request) -> Response:
        def work() -> Response:
            _, study = open_study(request)
            read_query(request, {})
            return answer_tagged(request, write_json(describe_study(service, study)))

        return await run_in_threadpool(work)

    # Trials and events ------------------------------------------------------------------------------------------------

    async def list_trials(request: Request) -> Response:
        def work() -> Response:
            _, study = open_study(request)
            words = {"status": parse_words, "order": parse_words, "skip": parse_whole, "limit": parse_whole}
            query = read_query(request, words)
            most = limit_page(query.get("limit"), service.limits.page, 100)
            statuses = None if "status" not in query else tuple(query["status"].split(","))
            for status in statuses or ():
                if status not in STATUSES:
                    raise InvalidInput(f"status must be among {', '.join(STATUSES)} (got {format_value(status)})")
            order = query.get("order", "number")
            if order not in ORDERS:
                raise InvalidInput(f"order must be one of {', '.join(ORDERS)} (got {format_value(order)})")
            found, skip = study.find_trials(statuses, order), query.get("skip", 0)
            page = study.read_trials(found[skip : skip + most])
            plain = {"total": len(found), "skip": skip, "trials": to_plain(page)}
            return answer_tagged(request, write_json(plain))

        return await run_in_threadpool(work)

    async def show_trial(request: Request) -> Response:
        def work() -> Response:
            _, study = open_study(request)
            read_query(request, {})
            number = parse_whole(request.path_params["number"], "number")
            return answer_tagged(request, write_json(to_plain(study.trial(number))))

        return await run_in_threadpool(work)

    async def list_events(request: Request) -> Response:
        def work() -> Response:
            _, study = open_study(request)
            words = {"after": parse_whole, "hash": parse_words, "limit": parse_whole, "rows": parse_flag}
            about = {"trial": parse_whole, "by": parse_words, "event": parse_words}
            query = read_query(request, {**words, **about})
            most = limit_page(query.get("limit"), service.limits.page, service.limits.page)
            if query.get("event") not in (None, *KINDS):
                raise InvalidInput(f"event must be one of {', '.join(KINDS)} (got {format_value(query['event'])})")
            start = find_start(study, query.get("after", 0), query.get("hash"))
            if query.keys() & about.keys():
                places = study.find_events(*(query.get(name) for name in about))
                entries = study.read_entries_at([at for at in places if start is None or at > start.position][:most])
            else:
                entries = list(islice(study.read_entries(start), most))
            write = write_row if query.get("rows") else write_entry
            head = study.read_head()
            plain = {"position": head.position, "hash": head.hash.hex(), "events": [write(entry) for entry in entries]}
            return answer_tagged(request, write_json(plain))

        return await run_in_threadpool(work)

    async def follow(request: Request) -> Response:
        _, study = await read_study(request)
        query = read_query(request, {"after": parse_whole})

        def check() -> None:
            """They may still see it: a token may be revoked while its stream is open."""
            service.access.find_study(service.access.find_person(request), f"{BY_IDENTITY}{study.identity}")

        last = request.headers.get("last-event-id")
        after = parse_whole(last, "Last-Event-ID") if last else query.get("after")
        if after is None:
            after = (await run_in_threadpool(study.read_head)).position
        stream = service.streams.follow(study, after, check)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    async def export(request: Request) -> Response:
        def work() -> Response:
            _, study = open_study(request)
            kind = read_query(request, {"format": parse_words}).get("format", "csv")
            if kind not in ("csv", "jsonl"):
                raise InvalidInput(f"format must be csv or jsonl (got {format_value(kind)})")
            trials = study.trials()
            pieces = format_csv(study, trials) if kind == "csv" else format_json_lines(trials, study.events())
            media = "text/csv; charset=utf-8" if kind == "csv" else LINES
            shown = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(f'{study.name}.{kind}')}"}
            return StreamingResponse(join_pieces(pieces), media_type=media, headers=shown)

        return await run_in_threadpool(work)

    for verb in WRITING:  # first: addresses are looked through in order
        if verb.takes_file:
            query = describe(verb.answer, verb.fields, required=verb.required)
            extra = {**query, **describe_file(verb.example)}
        else:
            extra = {**describe(verb.answer), **describe_body(verb.fields, verb.required, verb.example)}
        extra["parameters"] = [*extra["parameters"], KEY_PARAMETER]
        add(f"/studies/{{study}}/{verb.name}", "POST", verb.name, verb.about, _make_endpoint(service, verb), extra)
    add("/studies", "GET", "list_studies", "Every study that the token may see.", list_studies,
        describe(schemas.OBJECT, {"tombstones": schemas.FLAG}, of_study=False))  # fmt: skip
    add("/studies", "POST", "create", "Make a study; one of this name and these settings is found again.", create,
        {**describe(schemas.OBJECT, of_study=False),
         **describe_body(schemas.SETTINGS, ("name", "space"), schemas.CREATE_EXAMPLE)})  # fmt: skip
    add("/studies/{study}", "GET", "study", "A study: its settings, and where it stands.", show,
        describe(schemas.OBJECT))  # fmt: skip
    add("/studies/{study}/trials", "GET", "trials", "Trials, by pages.", list_trials,
        describe(schemas.OBJECT, {
            "status": {"type": "string", "description": "one or more of " + ", ".join(STATUSES)},
            "order": {"type": "string", "enum": list(ORDERS)}, "skip": schemas.WHOLE, "limit": schemas.COUNT,
        }))  # fmt: skip
    add("/studies/{study}/trials/{number}", "GET", "trial", "One trial.", show_trial,
        _with_number(describe(schemas.TRIAL)))  # fmt: skip
    add("/studies/{study}/events", "GET", "events", "Everything that happened, by pages, with hashes.", list_events,
        describe(schemas.OBJECT, {
            "after": schemas.WHOLE, "hash": schemas.WORDS, "limit": schemas.COUNT, "rows": schemas.FLAG,
            "trial": schemas.COUNT, "by": schemas.WORDS, "event": {"type": "string", "enum": list(KINDS)},
        }))  # fmt: skip
    add("/studies/{study}/stream", "GET", "stream", "What happens, as it happens: server-sent events.", follow,
        describe(schemas.WORDS, {"after": schemas.WHOLE}, kinds=("text/event-stream",)))  # fmt: skip
    add("/studies/{study}/export", "GET", "to_dataframe", "Every trial, as CSV or JSON lines.", export,
        describe(
            schemas.WORDS, {"format": {"type": "string", "enum": ["csv", "jsonl"]}}, kinds=("text/csv", LINES),
        ))  # fmt: skip

    for verb in LOOKS:
        extra = describe(verb.answer, verb.fields if verb.method == "GET" else None, required=verb.required)
        if verb.method == "POST":
            extra |= describe_body(verb.fields, verb.required, verb.example)
        add(f"/studies/{{study}}/{verb.name}", verb.method, verb.name, verb.about, _make_endpoint(service, verb), extra)
    return router


def find_person(service: Service, request: Request) -> Person:
    """Who asks; their calls are counted."""
    person = service.access.find_person(request)
    service.rates.take(person.row.id if person.row is not None else "")
    return person


def _make_endpoint(service: Service, verb: Verb) -> Endpoint:
    """The address of a verb."""

    async def endpoint(request: Request) -> Response:
        most = service.limits.upload if verb.large else service.limits.body
        in_address = verb.method == "GET" or verb.takes_file
        body = b"" if in_address else await read_body(request, most)

        def prepare() -> Job:
            person = find_person(service, request)
            identity = service.access.find_study(person, request.path_params["study"])
            service.access.require_scope(person, verb.scope)
            request.state.fields = list(verb.fields)
            if in_address:
                arguments = read_query(request, verb.parsers, verb.several)
            else:
                arguments = read_object(body, request.headers.get("content-type"))
            return service.make_job(person, identity, verb.name, arguments, key)

        def do_here() -> tuple[Job, Any]:
            """All of it in one thread, where nobody else is needed."""
            job = prepare()
            return job, do_job(service.studies, job)

        key = read_key(request)
        if verb.place == "together":
            job, answer = await service.tells.do(request.path_params["study"], prepare)
        elif verb.place == "here":
            job, answer = await run_in_threadpool(do_here)
        else:
            job = await run_in_threadpool(prepare)
            with TemporaryDirectory(prefix="belated-") if verb.takes_file else nullcontext() as folder:
                if folder is not None:
                    job = replace(job, file=Path(folder, "sent"))
                    await receive_file(request, Path(folder, "sent"), service.limits.upload)
                answer = await asyncio.wrap_future(service.pool.submit(job, verb.place))
        if verb.writes and verb.name != "delete":
            await service.announce(job.study)
        return _name_study(service, job.study, answer_json(answer))

    return endpoint


def _name_study(service: Service, identity: str, answer: Response) -> Response:
    """The answer, which says what the study is called now."""
    name = service.studies.find_open_name(identity)
    if name is not None:
        answer.headers[STUDY] = quote(name)  # which may have any letters
    return answer


def _note_name(endpoint: Endpoint, name: str) -> Endpoint:
    """The endpoint, which says by what name its calls are counted."""

    async def call(request: Request) -> Response:
        request.scope["belated.route"] = name
        try:
            return await endpoint(request)
        except asyncio.CancelledError:  # the server ends, and waits no longer
            raise WorkerLost(
                "the server ended meanwhile; the same call, with the same key, finds out what was done"
            ) from None

    return call


def _with_number(extra: dict[str, Any]) -> dict[str, Any]:
    number = {"name": "number", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}
    return {**extra, "parameters": [*extra["parameters"], number]}


def join_pieces(pieces: Iterable[str], least: int = PIECE) -> Iterator[str]:
    """The same text in larger pieces: each costs a turn of a thread."""
    waiting, size = list[str](), 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= least:
            yield "".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield "".join(waiting)


def limit_page(given: int | None, most: int, default: int) -> int:
    if given is None:
        return default
    if not 1 <= given <= most:
        raise InvalidInput(f"limit must be 1 to {most} (got {given})")
    return given


def find_start(study: ServedStudy, after: int, hash_: str | None) -> Head | None:
    """The event after which to read; with its hash, it must be the one that the caller has read."""
    if after == 0:
        return None
    if hash_ is None:
        return study.find_head(after)
    try:
        return Head(after, bytes.fromhex(hash_))
    except ValueError:
        raise InvalidInput(f"hash must be hexadecimal (got {format_value(hash_)})") from None


def describe_study(service: Service, study: ServedStudy) -> dict[str, Any]:
    """A study: its settings, and where it stands."""
    head = study.read_head()
    origin = service.studies.store.find_origin(study.name or "")
    return {
        "name": study.name,
        "id": study.identity,
        "settings": study.settings.spec(),
        "patience_now": to_plain(study.settings.patience.m),
        "origin": {"spec": origin.spec, "sealed": origin.sealed, "events": origin.events},
        "seed": study.seed,
        "rounds": study.rounds,
        "counts": study.counts(),
        "closed": study.closed,
        "locked": study.locked,
        "floor": to_plain(study.floor),
        "fit_note": study.fit_note,
        "writers": study.writers,
        "position": head.position,
        "hash": head.hash.hex(),
    }


def write_entry(entry: Entry) -> dict[str, Any]:
    """An event, for people and their programs."""
    return {"position": entry.position, "hash": entry.hash.hex(), "event": to_plain(entry.plain)}


def write_row(entry: Entry) -> list[Any]:
    """An event as it is stored, for a client that verifies its hash."""
    plain = entry.plain
    columns = (plain["event"], plain.get("number"), plain.get("key"), plain.get("part", 0))
    return [entry.position, *columns, entry.source, entry.hash.hex()]


def write_tombstone(gone: Tombstone) -> dict[str, Any]:
    return {**gone._asdict(), "hash": gone.hash.hex()}
