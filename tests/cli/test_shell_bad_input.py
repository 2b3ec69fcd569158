"""Bad input in the shell: one clear sentence on stderr, exit code 2, nothing stored, and never a password."""

from pathlib import Path

import pytest

import belated
from belated.cli.io.files import parse_json
from belated.errors import InvalidInput
from tests.cli.shell import run

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")

STORE = "sqlite:///belated.db"
NEW = ("new", "lab", "--real", "x", "0", "1", "--choice", "act", "relu,tanh", "--silence", "unknown", "--seed", "0")
OPTIONS = ("new", "other", "--silence", "unknown")


@pytest.fixture
def study() -> belated.Study:
    """Two trials are out, the first has an outcome."""
    assert run(*NEW).exit_code == 0
    made = belated.Study.open(STORE, "lab")
    made.ask(n=2)
    made.tell(1, 0.5)
    return made


REFUSED = [
    (["tell", "2", "nan"], "value must be a finite number (got nan)"),
    (["tell", "2", "-inf"], "value must be a finite number (got -inf)"),
    (["tell", "2", "1e999"], "value must be a finite number (got 1e999)"),
    (["tell", "2", "1" * 5000], "value must be a finite number (got 1111"),
    (["tell", "2", "true"], "value must be a number (got 'true')"),
    (["tell", "2", "0,5"], "value must be a number (got '0,5')"),
    (["tell", "2", "1_000"], "value must be a number (got '1_000')"),
    (["tell", "2", "٣"], "value must be a number (got '٣')"),
    (["tell", "2", ""], "value must be a number (got '')"),
    (["tell", "0", "1"], "there is no trial 0; trials 1 to 2 exist"),
    (["tell", "-1", "1"], "NUMBER must be a trial's number: 1, 2, 3, ... (got '-1')"),
    (["tell", "1.5", "1"], "NUMBER must be a trial's number: 1, 2, 3, ... (got '1.5')"),
    (["tell", "9" * 5000, "1"], "NUMBER must be a trial's number: 1, 2, 3, ... (got '999"),
    (["tell", "3", "1"], "there is no trial 3; trials 1 to 2 exist"),
    (["tell", "2"], "VALUE is missing; for example: belated tell 2 0.82 (got 2)"),
    (["tell", "lab", "2"], "VALUE is missing; for example: belated tell lab 2 0.82 (got lab 2)"),
    (["tell", "lab", "0.5"], "NUMBER is missing; for example: belated tell lab 1 0.82 (got lab 0.5)"),
    (["tell", "lab"], "the arguments must be [NAME] NUMBER VALUE (got lab)"),
    (["fail", "lab", "2"], "KIND is missing; for example: belated fail lab 2 lost (got lab 2)"),
    (["fail", "lab", "lost"], "NUMBER is missing; for example: belated fail lab 1 lost (got lab lost)"),
    (
        ["amend", "lab", "1", "--reason", "typo"],
        'VALUE is missing; for example: belated amend lab 1 0.28 --reason "..."',
    ),
    (["delays", "--by", "days"], 'by must be "rounds" or "clock" (got \'days\')'),
    (["delays", "lob"], "there is no study 'lob'; there are lab"),
    (["delays", "lab", "2"], "the arguments must be [NAME] (got lab 2)"),
    (["tell"], "the arguments must be [NAME] NUMBER VALUE (got nothing)"),
    (["tell", "lab", "2", "1", "1"], "the arguments must be [NAME] NUMBER VALUE (got lab 2 1 1)"),
    (["tell", "lob", "2", "1"], "there is no study 'lob'; there are lab"),
    (["tell", "2", "1", "--noise", "0"], "noise must be more than 0 (got 0.0)"),
    (["tell", "2", "1", "--noise", "x"], "noise must be a number (got 'x')"),
    (["tell", "2", "1", "--at", "noon"], "--at must be a time such as 2026-03-01T14:30, or seconds since 1970"),
    (["tell", "2", "1", "--key", ""], "key must be a"),
    (["tell", "2", "1", "--nosie", "1"], "No such option '--nosie'"),
    (["tell", "2", "1", "-x"], "No such option '-x'"),
    (["tell", "2", "1", "--csv", "a.csv"], "the arguments must be [NAME] with --csv (got 2 1)"),
    (["tell", "--csv", "a.csv", "--key", "k"], "--csv says everything itself"),
    (["tell", "--csv", "a.csv"], "a.csv cannot be read (No such file or directory)"),
    (["fail", "2", "broken"], "KIND must be one of lost, infeasible, withdrawn (got 'broken')"),
    (["fail", "1", "lost"], "trial 1 was told 0.5 before"),
    (["amend", "1", "0.6", "--reason", " "], "reason must say why"),
    (["amend", "1", "nan", "--reason", "typo"], "value must be a finite number"),
    (["amend", "--limits", "2", "1", "--reason", "typo"], "limits must have lo less than hi (got 2.0, 1.0)"),
    (["amend", "1", "1", "--floor", "0", "--reason", "typo"], "the arguments must be [NAME] with --floor or --limits"),
    (["ask", "-n", "0"], "n must be at least 1 (got 0)"),
    (["ask", "-n", "two"], "-n must be an integer (got 'two')"),
    (["ask", "--fix", "y=1"], "--fix y: there is no such parameter (the names are x, act)"),
    (["ask", "--fix", "x=2"], "x: value must be between 0.0 and 1.0 (got 2.0)"),
    (["ask", "--fix", "x"], "--fix must be name=value (got 'x')"),
    (["ask", "--fix", "x=0", "--fix", "x=1"], "--fix must be given once for each name (got 'x' twice)"),
    (["ask", "--context", "t=1"], "this study has no context; leave it out"),
    (["ask", "a", "b"], "the arguments must be [NAME] (got a b)"),
    (["ask", "../lab"], "name must match [A-Za-z0-9._-]{1,128}"),
    (["add"], "the arguments must be [NAME] K=V ..."),
    (["add", "x", "0.5", "act", "relu"], "an argument must be name=value (got '0.5')"),
    (["add", "x=0.5"], "act: value is missing (got x)"),
    (["add", "x=0.5", "act=elu"], "act: value must be one of relu, tanh (got 'elu')"),
    (["add", "x=nan", "act=relu"], "x: value must be a finite number (got nan)"),
    (["add", "x=0.5", "act=relu", "--noise", "1"], "noise belongs to an outcome"),
    (["show", "--older-than", "soon"], "--older-than must be a number and a unit"),
    (["import", "past.txt"], "FILE must end in .csv or .jsonl (got past.txt)"),
    (["import", "past.csv"], "past.csv cannot be read (No such file or directory)"),
    (["import"], "the arguments must be [NAME] FILE (got nothing)"),
    (["export", "--format", "xml"], "Invalid value for '--format'"),
    (["check", "lab", "--all"], "name a study or say --all, not both (got lab)"),
    (["new"], "the arguments must be NAME (got nothing)"),
    (["new", "a/b", "--real", "x", "0", "1", "--silence", "unknown"], "name must match [A-Za-z0-9._-]{1,128}"),
    (["new", "other"], "declare a space: --space space.toml"),
    (["new", "other", "--real", "x", "0", "1"], "silence must be said"),
    ([*OPTIONS, "--real", "x", "0"], "--real must be followed by NAME LOW HIGH"),
    ([*OPTIONS, "--choice"], "--choice must be followed by NAME A,B,..."),
    (
        ["new", "other", "--real", "x", "0", "--silence", "floor"],
        "--real must be followed by NAME LOW HIGH (got x 0 --",
    ),
    (
        [*OPTIONS, "--real", "x", "0", "1", "--limits", "0", "--seed", "1"],
        "--limits must be followed by LO HI (got 0 --",
    ),
    ([*OPTIONS, "--real", "x", "0", "1", "--lmits", "0", "1"], "No such option '--lmits'"),
    ([*OPTIONS, "--real", "x", "1", "0"], "x: low must be less than high (got 1.0, 0.0)"),
    ([*OPTIONS, "--real", "x", "0", "inf"], "x: high must be a finite number (got inf)"),
    ([*OPTIONS, "--real", "x", "0", "one"], "x: high must be a number (got 'one')"),
    ([*OPTIONS, "--real-log", "x", "0", "1"], "x: low must be more than 0 when log=True"),
    ([*OPTIONS, "--integer", "n", "1", "2.5"], "n: high must be an integer (got '2.5')"),
    ([*OPTIONS, "--integer", "n", "1", "9" * 5000], "n: high must be an integer (got '999"),
    ([*OPTIONS, "--choice", "c", "a"], "c: Choice must have at least two options"),
    ([*OPTIONS, "--choice", "c", "1,true"], "c: options must differ (got 1 and True)"),
    ([*OPTIONS, "--real", "x", "0", "1", "--integer", "x", "0", "1"], "names must differ (got 'x' twice)"),
    ([*OPTIONS, "--real", "x", "0", "1", "--patience", "0"], "patience must be more than 0 (got 0)"),
    (
        [*OPTIONS, "--real", "x", "0", "1", "--patience", "soon"],
        'a number of rounds such as 20, a time such as "2h" or "14d", "auto", "auto-clock" or "none" (got \'soon\')',
    ),
    ([*OPTIONS, "--real", "x", "0", "1", "--patience", "1.5"], "patience in rounds must be an integer (got '1.5')"),
    ([*OPTIONS, "--real", "x", "0", "1", "--goal", "up"], 'goal must be "maximize" or "minimize" (got \'up\')'),
    ([*OPTIONS, "--real", "x", "0", "1", "--seed", "-1"], "seed must be at least 0 (got -1)"),
    ([*OPTIONS, "--real", "x", "0", "1", "--points", "p.csv"], "p.csv cannot be read"),
]


@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_one_sentence_and_nothing_stored(study: belated.Study, args: list[str], sentence: str) -> None:
    before = (belated.studies(STORE), study.trials())
    ran = run(*args)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith("Error: ")
    assert sentence in ran.stderr
    assert len(ran.stderr) < 400
    assert (belated.studies(STORE), study.trials()) == before


TOML = [
    (b"silence = 1\nsilence = 2", "is not TOML: Cannot overwrite a value"),
    (b"[space]\nx = { real = [0, nan] }", "x: high must be a finite number (got nan)"),
    (b"[space]\nx = { real = [0, 1e999] }", "x: high must be a finite number (got inf)"),
    (b"[space]\nx = { real = [0, true] }", "x: high must be a number (got True)"),
    (b"[space]\nx = { real = [0, 1], lgo = true }", "x: must be { real = [low, high] }"),
    (b"[space]\nx = 3", "x: must be { real = [low, high] }"),
    (b"space = 3", "space must be a table of parameters (got 3)"),
    (b"colour = 3", "there is no setting 'colour'"),
    (b"seed = " + b"1" * 5000, "holds a number that is too long"),
    (b"x = " + b"[" * 100_000, "is nested too deeply"),
    (b"\xff\xfe", "must be UTF-8 text (byte 1 is not)"),
    (b"points = 3", "points must be a list"),
    (b"", "declare a space"),
]


@pytest.mark.parametrize(("text", "sentence"), TOML, ids=[text[:20] for text, _ in TOML])
def test_a_space_that_cannot_be_read(text: bytes, sentence: str) -> None:
    Path("space.toml").write_bytes(text)
    ran = run(*OPTIONS, "--space", "space.toml")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert sentence in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert not Path("belated.db").exists()


LINES = [
    (b'{"params": {"x": 0.5, "x": 0.6, "act": "relu"}}', "keys must differ (got 'x' twice)"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "outcome": 1e999}', "numbers must be finite (got 1e999)"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "outcome": NaN}', "numbers must be finite (got NaN)"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "outcome": true}', "outcome must be a number (got True)"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "asked_at": true}', "asked_at must be a number (got True)"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "told_at": [1]}', "told_at must be a number (got [1])"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "number": 1.5}', "number must be an integer (got 1.5)"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "outcome": ' + b"1" * 5000 + b"}", "a number is too long"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "outcme": 1}', "there is no field 'outcme'"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "outcome": 1, "failure": "lost"}', "an outcome or a failure, not both"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "failure": "broken"}', "failure must be one of lost"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "context": {"t": 1}}', "this study has no context"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "value": 1, "outcome": 1}', "give value or outcome, not both"),
    (b'{"params": {"x": 0.5}}', "act: value is missing (got x)"),
    (b'{"params": [1]}', "params must be an object (got [1])"),
    (b'{"x": 0.5}', "there is no field 'x'; parameters stand under params"),
    (b"[1, 2]", "a line must be a JSON object (got [1, 2])"),
    (b"{", "this is not JSON"),
    (b"[" * 100_000, "this JSON is nested too deeply"),
]


@pytest.mark.parametrize(("line", "sentence"), LINES, ids=[line[-40:] for line, _ in LINES])
def test_a_line_that_is_refused_is_named(study: belated.Study, line: bytes, sentence: str) -> None:
    good = b'{"params": {"x": 0.25, "act": "relu"}, "outcome": 1}\n'
    Path("past.jsonl").write_bytes(good + b"\n" + line + b"\n" + good)
    ran = run("import", "past.jsonl")
    assert ran.exit_code == 2
    first, second = ran.stderr.splitlines()
    assert first == "Error: nothing was recorded: a line is wrong"
    assert second.startswith("  past.jsonl:3: ")
    assert sentence in second
    assert len(study.trials()) == 2


CSVS = [
    (b"x,act,outcome\n0.5,relu\n", "past.csv:2: there must be 3 cells (got 2)"),
    (b"x,x,act\n", "past.csv:1: columns must differ (got 'x' twice)"),
    (b"x,,act\n", "past.csv:1: column 2 must have a name"),
    (
        b"x,act,otcome\n",
        "past.csv:1: there is no column 'otcome' to be read here (there are x, act, asked_at, outcome, noise, told_at,",
    ),
    (b"x;act;outcome\n", "; cells are separated by commas"),
    (b'x,act\n0.5,"relu', "past.csv:2: this is not CSV"),
    (b"x,act\n0.5,relu\xff\n", "past.csv must be UTF-8 text"),
    (b"", "past.csv must begin with a line that names its columns"),
    (b"x,outcome\n0.5,1\n", "past.csv:2: act: value is missing"),
    (b'x,act,outcome\n"0.5",relu,1\n0.5,"relu\nrelu",1\n0.5,relu,x\n', "past.csv:5: outcome must be a number"),
    (b"x,act,asked_at\n0.5,relu,9999-99-99\n", "past.csv:2: asked_at must be a time such as"),
]


@pytest.mark.parametrize(("text", "sentence"), CSVS, ids=[text[:25] for text, _ in CSVS])
def test_a_csv_that_is_refused(study: belated.Study, text: bytes, sentence: str) -> None:
    Path("past.csv").write_bytes(text)
    ran = run("import", "past.csv")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert sentence in ran.stderr
    assert len(study.trials()) == 2


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:secret@localhost:1/db",
        "postgresql://u:secret@localhost:port/db",
        "postgresql://u:secret@[::1/db",
        "postgresql://localhost:port/db?user=u&password=secret",
        "mysql://u:secret@localhost/db",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    for args in (["show"], [*OPTIONS, "--real", "x", "0", "1"]):
        if args[0] == "new" and ":1/" in url:
            continue  # a server that is not there is tried for six seconds
        ran = run(*args, "--store", url)
        assert (ran.exit_code, ran.stdout) == (2, "")
        assert len(ran.stderr.splitlines()) == 1
        assert "secret" not in ran.stderr


def test_a_store_that_is_none() -> None:
    Path("text.db").write_text("hello, this is no database at all" * 100)
    Path("folder").mkdir()
    for url in ("sqlite:///text.db", "sqlite:///folder", "sqlite:///nowhere/a.db", "lab.db", "sqlite://lab.db", ""):
        for args in (["ask", "lab"], [*OPTIONS, "--real", "x", "0", "1"]):
            if url or args[0] == "ask":  # an empty --store on `new` is refused below
                ran = run(*args, "--store", url)
                assert (ran.exit_code, ran.stdout) == (2, "")
                assert len(ran.stderr.splitlines()) == 1
    assert sorted(path.name for path in Path().iterdir()) == ["folder", "text.db"]


def test_json_says_a_thing_once_and_in_finite_numbers() -> None:
    assert parse_json('{"a": [1, 2.5, null, true, "x"]}') == {"a": [1, 2.5, None, True, "x"]}
    for text in ('{"a": {"b": 1, "b": 1}}', "[Infinity]", "[-1e400]", "nul", '"' + "\ud800"):
        with pytest.raises(InvalidInput):
            parse_json(text)
