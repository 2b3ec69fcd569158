"""What every command shares: the store, the study's name, and secrets that stay secret."""

from pathlib import Path

import pytest

from tests.cli.shell import SPACE, invoke, run, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_a_study_is_named_where_there_are_several() -> None:
    assert "there is no file" in invoke("ask", code=2).stderr
    invoke("new", "one", *SPACE)
    invoke("new", "two", *SPACE)
    assert "name the study: there are one, two" in invoke("ask", code=2).stderr
    assert "there is no study 'three'; there are one, two" in invoke("ask", "three", code=2).stderr
    assert invoke("show").stdout.split() == [
        *("study", "pending", "heard", "late", "expired", "failed", "one", "0", "0", "0", "0", "0"),
        *("two", "0", "0", "0", "0", "0"),
    ]
    assert [study["study"] for study in run_json("show")["studies"]] == ["one", "two"]


def test_the_store_is_an_option_or_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--store sqlite:///a.db" in invoke("new", "lab", *SPACE, "--store", "sqlite:///a.db").stdout
    monkeypatch.setenv("BELATED_STORE", "sqlite:///a.db")
    assert run_json("ask", "lab")["number"] == 1
    invoke("ask", "lab", "--store", "sqlite:///b.db", code=2)
    assert not Path("b.db").exists()
    assert not Path("belated.db").exists()


OPTIONS = ("new", "other", "--silence", "unknown")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:secret@localhost:1/db",
        "postgresql://u:secret@localhost:port/db",
        "postgresql://u:secret@[::1/db",
        "postgresql://localhost:port/db?user=u&password=secret",
        "postgresql://u:secret",
        "postgresql://u%3Asecret/db",
        "mysql://u:secret@localhost/db",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    for args in (["show"], [*OPTIONS, "--real", "x", "0", "1"]):
        if args[0] == "new" and ":1/" in url:
            continue  # a server that is not there is tried for six seconds
        ran = run(*args, "--store", url)
        assert (ran.exit_code, ran.stdout) == (2, "")
        *warnings, sentence = ran.stderr.splitlines()
        assert len(warnings) == url.startswith("postgresql")
        assert all("ps shows the password in --store" in warning for warning in warnings)
        assert sentence.startswith("Error: ")
        assert "secret" not in ran.stderr


@pytest.mark.parametrize("url", ["postgresql://u@localhost:1/db", "postgresql://localhost:1/db", "sqlite:///a@b:c.db"])
def test_a_store_without_a_password_gives_no_warning(url: str) -> None:
    assert "Warning" not in run("show", "--store", url).stderr


def test_a_password_in_the_environment_gives_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELATED_STORE", "postgresql://u:secret@localhost:port/db")
    ran = run("show")
    assert ran.stderr.startswith("Error: the url postgresql://u:***@localhost:port/db is not")


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
