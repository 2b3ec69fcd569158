"""The application: routes, errors as answers, the server's clock and counts with every call."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import belated
from belated.errors import BelatedError, ServerFault, TooBusy, find_code
from belated.record.ledger.calls import TIME
from belated.service.bodies import read_body, read_object
from belated.service.core import Service
from belated.service.errors import describe_error, find_status, find_wait
from belated.service.pages.routes import add_pages
from belated.service.routes import answer_json, find_person, make_router
from belated.service.sign_in import forget_cookie, sign_in, sign_out

log = logging.getLogger("belated.service")

ABOUT = """The verbs of a study over HTTP. Send the token as `Authorization: Bearer ...`. Errors have one shape:
`{"error": {"code", "message", "field"}}`; codes are stable, messages are those of Python."""


def make_app(service: Service) -> FastAPI:
    """The application of a server; `service` is app.state.service."""

    @asynccontextmanager
    async def live(app: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(service.close)

    app = FastAPI(
        title="belated",
        version=belated.__version__,
        description=ABOUT,
        lifespan=live,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    documented = make_router(service)
    app.router.routes.extend(answer_plainly(documented))
    app.include_router(documented)
    _add_doors(app, service)
    add_pages(app)
    app.add_exception_handler(BelatedError, _answer_refusal)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(Exception, _answer_fault)
    app.add_middleware(GZipMiddleware, minimum_size=2_000, compresslevel=4)
    app.add_middleware(Stamp, service=service)
    _describe_security(app)
    return app


def answer_plainly(documented: APIRouter) -> list[Route]:
    """The same addresses without FastAPI's own work at every call: it writes the document, and has nothing to check."""
    found = [route for route in documented.routes if isinstance(route, APIRoute)]
    return [Route(route.path, route.endpoint, methods=list(route.methods or ()), name=route.name) for route in found]


def _add_doors(app: FastAPI, service: Service) -> None:
    """What stands beside the API: signing in, health and numbers."""

    async def enter(request: Request) -> Response:
        body = await read_body(request, service.limits.body)
        plain = read_object(body, request.headers.get("content-type"))
        return await run_in_threadpool(sign_in, service.access, request, plain)

    async def leave(request: Request) -> Response:
        await run_in_threadpool(find_person, service, request)
        return await run_in_threadpool(sign_out, service.access, request)

    async def healthz(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(request: Request) -> Response:
        if service.streams.stopping:
            raise TooBusy("the server is stopping")
        await run_in_threadpool(service.studies.store.names)
        return PlainTextResponse("ready\n")

    async def metrics(request: Request) -> Response:
        def work() -> Response:
            person = find_person(service, request)
            service.access.require_all(person)
            open_ones = [service.studies.open(origin.identity) for _, origin, _ in service.access.list_seen(person)]
            return PlainTextResponse(service.metrics.write(open_ones, service.pool.waiting, service.pool.running))

        return await run_in_threadpool(work)

    hidden: dict[str, Any] = {"include_in_schema": False, "response_class": Response}
    app.add_api_route("/sign-in", enter, methods=["POST"], **hidden)
    app.add_api_route("/sign-out", leave, methods=["POST"], **hidden)
    app.add_api_route("/healthz", healthz, methods=["GET", "HEAD"], **hidden)
    app.add_api_route("/readyz", readyz, methods=["GET", "HEAD"], **hidden)
    app.add_api_route("/metrics", metrics, methods=["GET"], **hidden)


def _answer_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, BelatedError)  # noqa: S101
    status = find_status(error)
    request.app.state.service.metrics.note_refusal(find_code(error))
    if status == 500:
        log.error("%s: %s", request.url.path, error)
    response = answer_json(describe_error(error, getattr(request.state, "fields", ())), status)
    if status in (429, 503):
        response.headers["Retry-After"] = str(find_wait(error))
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
        forget_cookie(request, response)
    return response


def _answer_http(request: Request, error: Exception) -> Response:
    """What the framework refuses: an address or a method that is not there."""
    assert isinstance(error, HTTPException)  # noqa: S101
    if error.status_code == 404 and "text/html" in request.headers.get("accept", ""):
        page: Response = request.app.state.show_missing(request)
        return page
    code = {404: "unknown_address", 405: "unknown_method"}.get(error.status_code, "refused")
    message = {404: "there is nothing at this address", 405: "this address has another method"}.get(
        error.status_code, str(error.detail)
    )
    plain = {"error": {"code": code, "message": message, "field": None}}
    response = answer_json(plain, error.status_code)
    response.headers.update(error.headers or {})
    return response


def _answer_fault(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return answer_json(describe_error(ServerFault()), 500)


class Stamp:
    """Every answer has the server's time, and every call is counted."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def stamp(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    (TIME.lower().encode(), repr(self.service.studies.clock()).encode()),
                    (b"x-content-type-options", b"nosniff"),
                ]
            await send(message)

        try:
            await self.app(scope, receive, stamp)
        finally:
            route = scope.get("belated.route", "other")
            if route != "stream":
                self.service.metrics.note_call(route, status, time.perf_counter() - begun)


def _describe_security(app: FastAPI) -> None:
    """Say in the OpenAPI document how to show who one is."""
    make = app.openapi

    def openapi() -> dict[str, Any]:
        document = make()
        document.setdefault("components", {})["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer"},
            "cookie": {
                "type": "apiKey",
                "in": "cookie",
                "name": "belated",
                "description": "of a browser that has signed in; belated-PORT where the address has a port",
            },
        }
        return document

    app.openapi = openapi  # type: ignore[method-assign]
