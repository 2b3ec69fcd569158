"""The addresses of the pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from belated.cli.io.columns import name_column
from belated.errors import BelatedError, InvalidInput, NotSignedIn, Unavailable, UnknownStudy
from belated.record.events import NAMES
from belated.service.access import Person
from belated.service.bodies import parse_whole
from belated.service.core import Service
from belated.service.errors import find_status
from belated.service.pages.assets import answer_asset, find_address, find_unused_styles
from belated.service.pages.content import (
    OUT_BESIDE,
    describe_question,
    list_columns,
    list_fields,
    list_history,
    list_out,
    list_trials,
    preview_undo,
    read_row,
    summarize,
)
from belated.service.routes import answer_tagged, find_person
from belated.service.served import ServedStudy
from belated.service.sign_in import forget_cookie
from belated.service.tokens import SCOPES
from belated.version import __version__

# Nothing from elsewhere and nothing inline. Plotly adds its rules to our own stylesheet, but writes style="..." into
# the pictures of its heat maps, which is why attributes are let through; it makes them as data: images.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFETY = {"Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin"}
STATUSES = ("pending", "expired", "heard", "late", "failed", "counted")
ORDERS = {"-number": "newest first", "number": "oldest first", "outcome": "by outcome, from the lowest",
          "-outcome": "by outcome, from the highest"}  # fmt: skip
LATELY = 8  # events on the first page of a study
TABS = (("", "Overview"), ("belief", "Belief"), ("delays", "Delays"), ("trials", "Trials"), ("history", "History"))

Page = Callable[[Request, Person, ServedStudy], dict[str, Any]]


def make_templates() -> Any:
    """The templates; everything that they show is text unless it is written in a template."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise Unavailable('belated serve needs jinja2: pip install "belated[service]"') from error
    templates = Environment(
        loader=PackageLoader("belated.service.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(asset=find_address, unused_styles=find_unused_styles, version=__version__, tabs=TABS)
    return templates


def add_pages(app: FastAPI) -> None:
    """Let the server show pages."""
    service: Service = app.state.service
    templates = make_templates()

    def render(request: Request, name: str, person: Person | None, status: int = 200, **shown: Any) -> Response:
        allows = [] if person is None else SCOPES[: SCOPES.index(person.scope) + 1]
        text = templates.get_template(name).render(person=person, allows=allows, path=request.url.path, **shown)
        body, kind = text.encode(), "text/html; charset=utf-8"
        tagged = status == 200
        response = answer_tagged(request, body, kind) if tagged else Response(body, status, media_type=kind)
        response.headers.update(SAFETY)
        return response

    def refuse(request: Request, person: Person | None, error: BelatedError) -> Response:
        """A page that says what is wrong; whoever is not signed in is asked to."""
        if isinstance(error, NotSignedIn):
            onward = urlencode({"next": request.url.path})
            response = RedirectResponse(f"/sign-in?{onward}", 303, headers=SAFETY)
            forget_cookie(request, response)
            return response
        return render(request, "problem.html", person, find_status(error), sentence=str(error))

    def add(path: str, name: str, answer: Callable[[Request, Person], Response]) -> None:
        def work(request: Request) -> Response:
            person = None
            try:
                person = find_person(service, request)
                return answer(request, person)
            except BelatedError as error:
                return refuse(request, person, error)

        async def endpoint(request: Request) -> Response:
            request.scope["belated.route"] = "page"
            return await run_in_threadpool(work, request)

        mount(path, name, endpoint)

    def mount(path: str, name: str, endpoint: Callable[[Request], Awaitable[Response]]) -> None:
        app.add_api_route(path, endpoint, methods=["GET"], name=name, include_in_schema=False, response_class=Response)

    def add_study_page(path: str, template: str, tab: str, read: Page) -> None:
        """A page about one study; what `read` finds is what its template shows."""

        def answer(request: Request, person: Person) -> Response:
            study = service.studies.open(service.access.find_study(person, request.path_params["study"]))
            shown: dict[str, Any] = {
                "study": study,
                "settings": study.settings,
                "summary": summarize(study),
                "question": describe_question(study.settings),
                "base": f"/studies/{study.name}",
                "api": f"/api/studies/{study.name}",
                "tab": tab,
                "kinds": " ".join(NAMES.values()),
            }
            return render(request, template, person, 200, **shown, **read(request, person, study))

        add(f"/studies/{{study}}{path}", template, answer)

    # Everybody's ------------------------------------------------------------------------------------------------------

    async def show_asset(request: Request) -> Response:
        request.scope["belated.route"] = "asset"
        found = await run_in_threadpool(answer_asset, request, request.path_params["name"])
        return Response(status_code=404) if found is None else found

    async def show_sign_in(request: Request) -> Response:
        request.scope["belated.route"] = "page"
        onward = request.query_params.get("next", "/")
        safe = onward if onward.startswith("/") and not onward.startswith(("//", "/\\")) else "/"
        return render(request, "sign_in.html", None, onward=safe)

    mount("/assets/{version}/{name}", "asset", show_asset)
    mount("/sign-in", "sign_in_page", show_sign_in)

    # Studies ----------------------------------------------------------------------------------------------------------

    def show_studies(request: Request, person: Person) -> Response:
        every = [service.studies.open(origin.identity) for _, origin, _ in service.access.list_seen(person)]
        listed = sorted(map(summarize, every), key=lambda each: (each.closed, not each.attention, each.name))
        return render(request, "studies.html", person, studies=listed)

    add("/", "studies", show_studies)

    # A study ----------------------------------------------------------------------------------------------------------

    def read_overview(request: Request, person: Person, study: ServedStudy) -> dict[str, Any]:
        rows, out = list_out(study)
        lines, _ = list_history(study, None, None, 0, LATELY)
        newest = study.read_trials([study.rounds])[0].context if study.rounds else None
        return {
            "rows": rows,
            "out": out,
            "beside": OUT_BESIDE,
            "lines": lines,
            "columns": list_columns(study.settings),
            "contexts": list_fields(study.settings.context, newest),
            "by": choose(request, "by", ("trial", "time"), "trial"),
        }

    def read_belief(request: Request, person: Person, study: ServedStudy) -> dict[str, Any]:
        newest = study.read_trials([study.rounds])[0].context if study.rounds else None
        return {
            "contexts": list_fields(study.settings.context, newest),
            "names": [(name, study.settings.space.format_label(name)) for name in study.settings.space.names],
        }

    def read_nothing(request: Request, person: Person, study: ServedStudy) -> dict[str, Any]:
        return {}

    def read_trials(request: Request, person: Person, study: ServedStudy) -> dict[str, Any]:
        statuses = [status for status in request.query_params.getlist("status") if status]
        for status in statuses:
            if status not in STATUSES:
                raise InvalidInput(f"status must be among {', '.join(STATUSES)} (got {status!r})")
        order = choose(request, "order", tuple(ORDERS), "-number")
        rows, paging = list_trials(study, statuses, order, read_whole(request, "skip") or 0)
        kept = urlencode([*(("status", status) for status in statuses), ("order", order)])
        return {
            "rows": rows,
            "paging": paging,
            "columns": list_columns(study.settings),
            "chosen": statuses,
            "order": order,
            "orders": ORDERS,
            "statuses": [each for each in STATUSES if each != "counted" or study.settings.objective.conversions],
            "kept": kept,
        }

    def read_trial(request: Request, person: Person, study: ServedStudy) -> dict[str, Any]:
        trial = study.trial(parse_whole(request.path_params["number"], "number"))
        lines, _ = list_history(study, trial.number, None, 0, 200)
        return {
            "row": read_row(study, trial, study.clock(), study.rounds),
            "columns": list_columns(study.settings),
            "lines": lines,
            "run": list_fields(study.settings.space, trial.params),
        }

    def read_history(request: Request, person: Person, study: ServedStudy) -> dict[str, Any]:
        by, trial = request.query_params.get("by") or None, read_whole(request, "trial")
        lines, paging = list_history(study, trial, by, read_whole(request, "skip") or 0)
        kept = urlencode([(name, value) for name, value in (("by", by), ("trial", trial)) if value is not None])
        return {
            "lines": lines,
            "paging": paging,
            "writers": study.writers,
            "by": by,
            "trial": trial,
            "kept": kept,
        }

    def read_undo(request: Request, person: Person, study: ServedStudy) -> dict[str, Any]:
        service.access.require_scope(person, "tell")
        return {"preview": preview_undo(study, person.name)}

    def read_add(request: Request, person: Person, study: ServedStudy) -> dict[str, Any]:
        service.access.require_scope(person, "ask")
        settings = study.settings
        around = () if settings.context is None else settings.context.names
        columns = [*map(name_column, settings.space.names), *(f"context.{name}" for name in around)]
        return {
            "params": list_fields(settings.space),
            "contexts": list_fields(settings.context),
            "columns": columns,
        }

    def read_manage(request: Request, person: Person, study: ServedStudy) -> dict[str, Any]:
        service.access.require_scope(person, "own")
        return {"ranges": [field for field in list_fields(study.settings.space) if " to " in field.hint]}

    add_study_page("", "overview.html", "", read_overview)
    add_study_page("/belief", "belief.html", "belief", read_belief)
    add_study_page("/delays", "delays.html", "delays", read_nothing)
    add_study_page("/trials", "trials.html", "trials", read_trials)
    add_study_page("/trials/{number}", "trial.html", "trials", read_trial)
    add_study_page("/history", "history.html", "history", read_history)
    add_study_page("/undo", "undo.html", "history", read_undo)
    add_study_page("/add", "add.html", "add", read_add)
    add_study_page("/manage", "manage.html", "manage", read_manage)

    def show_missing(request: Request) -> Response:
        return render(request, "problem.html", None, 404, sentence="there is nothing at this address")

    app.state.show_missing = show_missing

    def refuse_address(request: Request, person: Person) -> Response:
        raise UnknownStudy("there is nothing at this address")

    add("/studies/{study}/{rest:path}", "no_page", refuse_address)


def choose(request: Request, name: str, known: tuple[str, ...], default: str) -> str:
    """A word of the address, if it is one of those that are known."""
    word = request.query_params.get(name) or default
    if word not in known:
        raise InvalidInput(f"{name} must be one of {', '.join(known)} (got {word!r})")
    return word


def read_whole(request: Request, name: str) -> int | None:
    text = request.query_params.get(name)
    return parse_whole(text, name) if text else None
