"""The study's methods as a server offers them: what each needs, who may call it, and what it answers.

Writing verbs are POST /api/studies/STUDY/VERB with a JSON object; looks are GET with queries, unless they take a list.
"""

from __future__ import annotations

import base64
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from belated.cli.io.columns import describe_left_out
from belated.cli.io.import_rows import DRY, describe_aging, describe_early, describe_import, import_file
from belated.cli.io.rows import check_ending
from belated.cli.io.transaction import apply_at_once
from belated.errors import BelatedError, Deleted, InvalidInput, SilenceWarning, TooLarge
from belated.outlook.forecast import MOST
from belated.record.events import Asked, Event, Undone, event_from_dict
from belated.record.ledger.chain import Head
from belated.record.signing import Signature, require_reason
from belated.remote.wire import to_plain
from belated.service import schemas
from belated.service.bodies import (
    parse_flag,
    parse_lines,
    parse_moment,
    parse_number,
    parse_object,
    parse_whole,
    parse_words,
    read_arguments,
)
from belated.service.served import NotTogether, ServedStudies, ServedStudy
from belated.service.tokens import Scope
from belated.service.workers import Job
from belated.validation import Spec, format_value, require_whole
from belated.verbs.telling import TellCall

Result = TypeVar("Result")
Done = tuple[Job, Any]  # with its answer

MADE_ELSEWHERE = ("asked", "told", "converted", "counted", "repeated", "refused", "failed", "amended")
# In the server's own process, alone or together with others that wait; or in a lane of another one.
Where = Literal["here", "together", "ask", "look"]


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A method of a study."""

    name: str
    about: str
    scope: Scope
    place: Where
    fields: Mapping[str, Any]  # of the body or the query: the schema of each
    required: tuple[str, ...] = ()
    example: Any = field(default_factory=dict)  # of the body
    answer: Mapping[str, Any] = field(default_factory=dict)  # its schema
    do: Callable[[ServedStudy, Spec, str | None], Any]
    method: Literal["GET", "POST"] = "POST"
    parsers: Mapping[str, Callable[[str, str], Any]] = field(default_factory=dict)  # of a query's fields
    large: bool = False  # whether a body may be as long as a file
    takes_file: bool = False  # whether the body is a file: then the fields stand in the address
    several: tuple[str, ...] = ()  # fields of a query that may be given more than once

    @property
    def writes(self) -> bool:
        return self.method == "POST" and self.scope != "read"


def call_method(name: str) -> Callable[[ServedStudy, Spec, str | None], Any]:
    """The method of this name, with the arguments as they are."""

    def do(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
        return getattr(study, name)(**arguments)

    return do


def _ask(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    return study.ask(**{"key": key, **arguments})


def _tell(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    if key is not None and "key" not in arguments:
        trial = arguments.get("trial")
        arguments = {**arguments, "key": study.choose_key(getattr(trial, "number", trial), key)}
    return study.tell(**_require_value(arguments))


def _tell_many(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    return study.tell_many(**arguments) if key is None else study.tell_rows(**arguments, key=key)


def _require_value(arguments: Spec) -> dict[str, Any]:
    """A value that is null is no number."""
    return {"value": None, **arguments}


def _add(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    return study.add(**{"key": key, **arguments})


def _add_many(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    """Rows without a key of their own get one each, so that the whole may be sent again."""
    counted = [any(name in row for name in ("day", "shown", "converted", "as_of")) for row in arguments["rows"]]
    rows = [
        row if key is None or people or row.get("key") is not None else {**row, "key": f"{key}/{i}"}
        for i, (row, people) in enumerate(zip(arguments["rows"], counted, strict=True))
    ]
    return study.add_many(**{**arguments, "rows": rows})


def _amend(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    if key is None:
        return study.amend(**arguments)
    if study.find_repeat(key):
        trial: Any = arguments.get("trial")
        return None if trial is None else study.trial(getattr(trial, "number", trial))
    return study.do_once(key, lambda: study.amend(**arguments))


def _undo(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    if key is None:
        return study.undo(**arguments)
    before = study.find_repeat(key)
    if before:
        events = study.events()
        back = [past.event.position for past in before if isinstance(past.event, Undone)]
        return [{"position": at, "event": events[at - 1]} for at in back]
    return study.do_once(key, lambda: study.undo(**arguments))


def _delete(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    study.delete(**arguments)


def _posterior(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    belief = study.posterior(**arguments)
    return {"mean": belief.mean, "std": belief.std, "low": belief.low, "high": belief.high}


def _report(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    return {"html": study.report(**arguments)}


def _plot(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    kind = arguments.pop("format", "png")
    if kind not in schemas.PICTURES:
        raise InvalidInput(f"format must be one of {', '.join(schemas.PICTURES)} (got {kind!r})")
    with tempfile.TemporaryDirectory(prefix="belated-plot-") as folder:
        path = study.plot(Path(folder) / f"study.{kind}", **arguments)
        return {"type": schemas.PICTURES[kind], "base64": base64.b64encode(path.read_bytes()).decode()}


def _delays(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    with warnings.catch_warnings(action="ignore", category=SilenceWarning):  # the report says it too
        return study.delays(**arguments)


def _replay(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    replay = study.replay(**arguments)
    return {**to_plain(replay), "ok": replay.ok, "sentence": str(replay)}


def _best(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    best = study.best(**arguments)
    return {**to_plain(best), "sentence": str(best)}


def _recommend(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    best = study.recommend(**arguments)
    return {**to_plain(best), "sentence": str(best)}


def _refit(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    """A second attempt, with the same key, finds what the first one found; after a restart it fits once more."""
    if key is None or study.last_refit is None or study.last_refit[0] != key:
        study.last_refit = key, study.refit(**arguments)
    return {"fitted": to_plain(study.last_refit[1])}


def _chart(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    from belated.service.pages.charts import draw_charts  # Plotly is loaded when the first chart is drawn

    return draw_charts(study, arguments)


def _append(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    """What a client worked out: the rows of a file."""
    events = [_read_made(plain, arguments.get("by")) for plain in arguments["events"]]
    head = study.append_made(_read_head(arguments), events)
    return {"position": head.position, "hash": head.hash.hex()}


def _read_head(arguments: Spec) -> Head:
    try:
        return Head(require_whole(arguments["position"], "position"), bytes.fromhex(arguments["hash"]))
    except (TypeError, ValueError):
        raise InvalidInput(f"hash must be hexadecimal (got {format_value(arguments['hash'])})") from None


def _read_made(plain: Any, by: str | None) -> Event:
    """An event that a client may make: of trials that were tried elsewhere, never a choice."""
    kind = plain.get("event") if isinstance(plain, dict) else None
    if kind not in MADE_ELSEWHERE:
        raise InvalidInput(f"an event must be one of {', '.join(MADE_ELSEWHERE)} (got {format_value(kind)})")
    try:
        event = event_from_dict(plain)
    except (TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"this is no event ({error})") from None
    chosen = isinstance(event, Asked) and not event.by_hand
    if chosen or any(getattr(event, name, None) for name in ("fitted", "versions", "note", "fixed")):
        raise InvalidInput("only queries that were given by hand can be sent; the others are asked for")
    return replace(event, by=by) if event.by is None else event


def _import(study: ServedStudy, arguments: Spec, key: str | None) -> Any:
    """The rows of a file as trials, all or none."""
    name, dry, sent = arguments["name"], arguments.get("dry_run", False), arguments["file"]
    path = sent.replace(sent.with_suffix(check_ending(Path(name))))
    reason = DRY if dry else arguments.get("amend")
    signature = Signature.of(arguments.get("by"), arguments.get("remark"))
    words = arguments.get("as_of"), arguments.get("map", ()), signature, reason and require_reason(reason)
    try:
        counts = apply_at_once(
            study.url,
            study.name or "",
            lambda copy: import_file(copy, path, *words),
            signature=signature,
            asks=True,
            dry=dry,
        )
    except BelatedError as error:
        raise type(error)(str(error).replace(str(path), name)) from None
    warnings = (describe_left_out(counts.left_out), describe_early(counts), describe_aging(counts, dry=dry))
    return {
        **to_plain(counts),
        "sentence": describe_import(counts, dry=dry),
        "warnings": [words for words in warnings if words],
    }


SIGNED = {"by": schemas.WORDS}
REMARKED = {**SIGNED, "remark": schemas.WORDS}
CONTEXT: Mapping[str, Callable[[str, str], Any]] = {"context": parse_object}
BY: Mapping[str, Callable[[str, str], Any]] = {"by": parse_words}

WRITING = (
    Verb(
        name="ask",
        about="What to try next; with n, or with contexts, a list.",
        scope="ask",
        place="ask",
        fields={
            "context": schemas.PARAMS,
            "n": schemas.COUNT,
            "contexts": {"type": "array", "items": schemas.PARAMS},
            "params": schemas.PARAMS,
            "key": schemas.WORDS,
            **REMARKED,
        },
        example={"key": "flask 7"},
        answer=schemas.TRIAL_OR_TRIALS,
        do=_ask,
    ),
    Verb(
        name="tell",
        about="Tell the outcome of a trial. The same value again is a duplicate, another one is refused.",
        scope="tell",
        place="together",
        fields={
            "trial": schemas.TRIAL_NUMBER,
            "value": schemas.NUMBER,
            "at": schemas.MOMENT,
            "noise": schemas.NUMBER,
            "params": schemas.PARAMS,
            "key": schemas.WORDS,
            **REMARKED,
        },
        required=("trial",),
        example={"trial": 1, "value": 0.83},
        answer=schemas.RECEIPT,
        do=_tell,
    ),
    Verb(
        name="tell_many",
        about="Tell many outcomes at once, all or none. A row names its trial, or the key that it was asked with.",
        scope="tell",
        place="here",
        fields={"rows": {"type": "array", "items": schemas.PARAMS}, **REMARKED},
        required=("rows",),
        example={"rows": [{"trial": 1, "value": 0.83}]},
        answer={"type": "array", "items": schemas.RECEIPT},
        do=_tell_many,
    ),
    Verb(
        name="add",
        about="Add a query that was tried before or elsewhere; without a value it is pending.",
        scope="ask",
        place="here",
        fields={
            "params": schemas.PARAMS,
            "value": schemas.NUMBER,
            "context": schemas.PARAMS,
            "at": schemas.MOMENT,
            "noise": schemas.NUMBER,
            "key": schemas.WORDS,
            **REMARKED,
        },
        required=("params",),
        example={"params": {"temperature": 61.5}, "value": 0.64},
        answer=schemas.TRIAL,
        do=_add,
    ),
    Verb(
        name="add_many",
        about="Add many rows at once, all or none.",
        scope="ask",
        place="here",
        fields={"rows": {"type": "array", "items": schemas.PARAMS}, **REMARKED},
        required=("rows",),
        example={"rows": [{"params": {"temperature": 61.5}, "value": 0.64}]},
        answer=schemas.TRIALS,
        do=_add_many,
    ),
    Verb(
        name="fail",
        about="End a trial, or a list of them, without an outcome: lost, infeasible or withdrawn.",
        scope="tell",
        place="here",
        fields={
            "trial": schemas.TRIAL_NUMBERS,
            "kind": {"type": "string", "enum": ["lost", "infeasible", "withdrawn"]},
            "reason": schemas.WORDS,
            **SIGNED,
        },
        required=("trial", "kind"),
        example={"trial": 1, "kind": "lost"},
        answer=schemas.TRIAL_OR_TRIALS,
        do=call_method("fail"),
    ),
    Verb(
        name="amend",
        about="Correct what was recorded wrongly, of a trial or of the study, with a reason.",
        scope="tell",
        place="here",
        fields={
            "trial": schemas.TRIAL_NUMBER,
            "value": schemas.NUMBER,
            "reason": schemas.WORDS,
            "noise": schemas.NUMBER,
            "at": schemas.MOMENT,
            "params": schemas.PARAMS,
            "failure": {"type": "string", "enum": ["lost", "infeasible", "withdrawn"]},
            "take_back": schemas.FLAG,
            "floor": schemas.NUMBER,
            "limits": schemas.PAIR,
            "patience": schemas.PATIENCE,
            "ranges": {"type": "object", "additionalProperties": schemas.PAIR},
            **SIGNED,
        },
        required=("reason",),
        example={"trial": 1, "value": 0.71, "reason": "the decimal point"},
        answer=schemas.MAYBE_TRIAL,
        do=_amend,
    ),
    Verb(
        name="undo",
        about="Take back the newest thing that a person did.",
        scope="tell",
        place="here",
        fields={"trial": schemas.TRIAL_NUMBER, "reason": schemas.WORDS, "only": schemas.WHOLE, **SIGNED},
        answer=schemas.PAST_EVENTS,
        do=_undo,
    ),
    Verb(
        name="close",
        about="Stop asking; or lock the study, so that nothing may be told either.",
        scope="own",
        place="here",
        fields={"lock": schemas.FLAG, **REMARKED},
        answer=schemas.NOTHING,
        do=call_method("close"),
    ),
    Verb(
        name="reopen",
        about="Go on with a study that was closed or locked.",
        scope="own",
        place="here",
        fields={"reason": schemas.WORDS, **SIGNED},
        required=("reason",),
        example={"reason": "the reviewers want two more"},
        answer=schemas.NOTHING,
        do=call_method("reopen"),
    ),
    Verb(
        name="rename",
        about="Give the study another name.",
        scope="own",
        place="here",
        fields={"name": schemas.NAME, "reason": schemas.WORDS, **SIGNED},
        required=("name",),
        example={"name": "flask"},
        answer=schemas.NOTHING,
        do=call_method("rename"),
    ),
    Verb(
        name="delete",
        about="Delete the study, with all of its events; its name must be given once more.",
        scope="own",
        place="here",
        fields={"name": schemas.NAME, "reason": schemas.WORDS, **SIGNED},
        required=("name", "reason"),
        example={"name": "catalyst", "reason": "it was to learn the buttons"},
        answer=schemas.NOTHING,
        do=_delete,
    ),
    Verb(
        name="refit",
        about="Fit the hyperparameters now, and record them.",
        scope="ask",
        place="ask",
        fields=SIGNED,
        answer=schemas.OBJECT,
        do=_refit,
    ),
    Verb(
        name="append",
        about="Write events that a client worked out from all events so far: the rows of a file. All or none.",
        scope="tell",
        place="ask",
        large=True,
        fields={
            "position": schemas.WHOLE,
            "hash": schemas.WORDS,
            "events": {"type": "array", "items": schemas.OBJECT},
            **SIGNED,
        },
        required=("position", "hash", "events"),
        example={
            "position": 12,
            "hash": "5e2f" * 16,  # of the study's newest event, which GET says
            "events": [{"event": "told", "number": 3, "value": 0.64, "at": 1772370000.0}],
        },
        answer=schemas.OBJECT,
        do=_append,
    ),
    Verb(
        name="import",
        about="Add the rows of a file, all or none; the file is the body. With dry_run, say what would happen.",
        scope="ask",
        place="ask",
        takes_file=True,
        fields={
            "name": {
                "type": "string",
                "description": "of the file, which ends in .csv, .xlsx or .jsonl",
                "example": "past.csv",
            },
            "dry_run": schemas.FLAG,
            "map": {"type": "array", "items": schemas.WORDS, "description": "what a title means: yield=outcome"},
            "amend": {"type": "string", "description": "why rows of an export were edited: they are amended then"},
            "as_of": {"type": "string", "description": "until when people are counted, where the rows do not say it"},
            **REMARKED,
        },
        required=("name",),
        parsers={
            "name": parse_words,
            "dry_run": parse_flag,
            "map": parse_words,
            "amend": parse_lines,
            "as_of": parse_moment,
            "by": parse_words,
            "remark": parse_lines,
        },
        several=("map",),
        example="temperature,outcome\n61.5,0.64\n",
        answer=schemas.OBJECT,
        do=_import,
    ),
)

LOOKS = (
    Verb(
        name="best",
        about="The best query so far, and what it is worth.",
        scope="read",
        place="look",
        method="GET",
        fields={"context": schemas.CONTEXT_TEXT},
        parsers=CONTEXT,
        answer=schemas.OBJECT,
        do=_best,
    ),
    Verb(
        name="recommend",
        about="The query where the belief's mean is best.",
        scope="read",
        place="look",
        method="GET",
        fields={"context": schemas.CONTEXT_TEXT},
        parsers=CONTEXT,
        answer=schemas.OBJECT,
        do=_recommend,
    ),
    Verb(
        name="posterior",
        about="Mean, standard deviation and 90 % interval at some points.",
        scope="read",
        place="look",
        fields={
            "points": {"type": "array", "items": schemas.PARAMS},
            "context": schemas.PARAMS,
            "pending": schemas.FLAG,
        },
        required=("points",),
        example={"points": [{"temperature": 61.5}]},
        answer=schemas.OBJECT,
        do=_posterior,
    ),
    Verb(
        name="delays",
        about="How long outcomes take, how many are still to come, and what delays depend on.",
        scope="read",
        place="look",
        method="GET",
        fields={"by": {"type": "string", "enum": ["rounds", "clock"]}},
        parsers=BY,
        answer=schemas.OBJECT,
        do=_delays,
    ),
    Verb(
        name="advise",
        about="How long to wait, what that costs, and why.",
        scope="read",
        place="look",
        method="GET",
        fields={"by": {"type": "string", "enum": ["rounds", "clock"]}},
        parsers=BY,
        answer=schemas.OBJECT,
        do=call_method("advise"),
    ),
    Verb(
        name="outlook",
        about="What more queries are likely to bring.",
        scope="read",
        place="look",
        method="GET",
        fields={
            "queries": {**schemas.COUNT, "maximum": MOST},
            "context": schemas.CONTEXT_TEXT,
            "margin": schemas.NUMBER,
        },
        parsers={"queries": parse_whole, "context": parse_object, "margin": parse_number},
        answer=schemas.OBJECT,
        do=call_method("outlook"),
    ),
    Verb(
        name="report",
        about="The study as one HTML page for those who were not there.",
        scope="read",
        place="look",
        method="GET",
        fields={"context": schemas.CONTEXT_TEXT},
        parsers=CONTEXT,
        answer=schemas.OBJECT,
        do=_report,
    ),
    Verb(
        name="plot",
        about="A picture of the study.",
        scope="read",
        place="look",
        method="GET",
        fields={
            "format": {"type": "string", "enum": list(schemas.PICTURES)},
            "context": schemas.CONTEXT_TEXT,
            "dpi": schemas.WHOLE,
        },
        parsers={"format": parse_words, "context": parse_object, "dpi": parse_whole},
        answer=schemas.OBJECT,
        do=_plot,
    ),
    Verb(
        name="chart",
        about="The charts of the pages: figures of Plotly, and the same in words.",
        scope="read",
        place="look",
        method="GET",
        fields={
            "chart": {"type": "string", "enum": ["progress", "pending", "delays", "belief", "outlook"]},
            "by": {"type": "string", "enum": ["trial", "time"]},
            "context": schemas.CONTEXT_TEXT,
            "pair": {
                "type": "string",
                "description": "two parameters, as JSON",
                "example": '["temperature", "stages"]',
            },
        },
        required=("chart",),
        parsers={"chart": parse_words, "by": parse_words, "context": parse_object, "pair": parse_words},
        answer=schemas.OBJECT,
        do=_chart,
    ),
    Verb(
        name="replay",
        about="Compute a trial's choice again, only from what it knew.",
        scope="read",
        place="look",
        method="GET",
        fields={"number": schemas.WHOLE},
        required=("number",),
        parsers={"number": parse_whole},
        answer=schemas.OBJECT,
        do=_replay,
    ),
    Verb(
        name="find_undo",
        about="The events that undo would take back now, the newest first.",
        scope="read",
        place="here",
        method="GET",
        fields=SIGNED,
        parsers=BY,
        answer=schemas.PAST_EVENTS,
        do=call_method("find_undo"),
    ),
    Verb(
        name="log",
        about="The history in sentences, the newest last.",
        scope="read",
        place="here",
        method="GET",
        fields={"trial": schemas.WHOLE, "by": schemas.WORDS, "since": schemas.MOMENT, "until": schemas.MOMENT},
        parsers={"trial": parse_whole, "by": parse_words, "since": parse_moment, "until": parse_moment},
        answer={"type": "array", "items": schemas.OBJECT},
        do=call_method("log"),
    ),
    Verb(
        name="counts",
        about="How many trials there are now of each status.",
        scope="read",
        place="here",
        method="GET",
        fields={},
        answer={"type": "object", "additionalProperties": schemas.WHOLE},
        do=call_method("counts"),
    ),
    Verb(
        name="hyperparameters",
        about="Every set of hyperparameters found so far, the newest last.",
        scope="read",
        place="here",
        method="GET",
        fields={},
        answer={"type": "array", "items": schemas.OBJECT},
        do=call_method("hyperparameters"),
    ),
    Verb(
        name="queries",
        about="Every query of the space, when they can be listed; else null.",
        scope="read",
        place="here",
        method="GET",
        fields={},
        answer={"type": ["array", "null"], "items": schemas.PARAMS},
        do=call_method("queries"),
    ),
)

VERBS = {verb.name: verb for verb in (*WRITING, *LOOKS)}


def do_job(studies: ServedStudies, job: Job) -> Any:
    """Do something with a study, in this process; its answer is plain."""
    verb = VERBS[job.verb]
    try:
        given = job.arguments if job.file is None else {**job.arguments, "file": job.file}
        answer = verb.do(studies.open(job.study), read_arguments(given), job.key)
    except Deleted:
        studies.forget(job.study)
        raise
    if job.verb == "delete":
        studies.forget(job.study)
    return to_plain(answer)


def may_share(job: Job) -> bool:
    """Whether a job is an ask for one query, which may be done together with others of its study."""
    return job.verb == "ask" and all(job.arguments.get(name) is None for name in ("n", "contexts", "params"))


def do_asks(studies: ServedStudies, jobs: Sequence[Job]) -> list[Any]:
    """Do some asks of one study together; NotTogether where each has to be done by itself."""
    try:
        study = studies.open(jobs[0].study)
    except BelatedError:
        raise NotTogether from None
    calls = [read_arguments({"key": job.key, **job.arguments}) for job in jobs]
    return [to_plain(trial) for trial in study.ask_together(calls)]


def do_tells(studies: ServedStudies, prepared: Sequence[Callable[[], Job]]) -> list[Done | Exception]:
    """What some tells come to one after the other; those that follow each other and are news share a commit.

    prepared  each makes its job, or raises what its caller is answered"""
    jobs = [catch(prepare) for prepare in prepared]
    answers = list[Done | Exception]()
    while rest := jobs[len(answers) :]:
        answers += tell_news(studies, rest) or [tell_alone(studies, rest[0])]
    return answers


def tell_alone(studies: ServedStudies, job: Job | Exception) -> Done | Exception:
    """What one tell comes to."""
    return job if isinstance(job, Exception) else catch(lambda: (job, do_job(studies, job)))


def tell_news(studies: ServedStudies, jobs: Sequence[Job | Exception]) -> list[Done | Exception]:
    """What the first of some tells come to, as far as they are news for one study; none where that is one at most."""
    found, calls = list[Job](), list[TellCall]()
    with suppress(BelatedError):  # it is answered by itself
        for job in jobs:
            if isinstance(job, Exception) or (found and job.study != found[0].study):
                break
            calls.append(_read_tell(job))
            found.append(job)
    if len(calls) < 2:
        return []
    try:
        answers = studies.open(found[0].study).tell_news(calls)
    except Deleted:
        return []
    except BelatedError as error:  # of the store: it is the same for all
        return [error] * len(calls)
    return [
        answer if isinstance(answer, Exception) else (job, to_plain(answer))
        for job, answer in zip(found, answers, strict=False)
    ]


def _read_tell(job: Job) -> TellCall:
    """The call of a tell. Where it is news, its key is recorded, also if the client made it."""
    given = _require_value({"key": job.key, **read_arguments(job.arguments)})
    return TellCall(signature=Signature.of(given.pop("by", None), given.pop("remark", None)), **given)


def catch(work: Callable[[], Result]) -> Result | Exception:
    """What some work comes to, or why it does not."""
    try:
        return work()
    except Exception as error:
        return error


def check_sizes(arguments: Mapping[str, Any], rows: int, batch: int) -> None:
    """Refuse what is too much at once."""
    n = arguments.get("n")
    if isinstance(n, int) and n > batch:
        raise TooLarge(f"n may be {batch} at most (got {n})")
    for name, most in (("contexts", batch), ("rows", rows), ("points", rows), ("trial", rows), ("events", 4 * rows)):
        given = arguments.get(name)
        if isinstance(given, Iterable) and not isinstance(given, str | Mapping) and len(list(given)) > most:
            raise TooLarge(f"{name} may be {most} at most (got {len(list(given))})")
