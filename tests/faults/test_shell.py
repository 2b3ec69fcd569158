"""The shell in its own processes: two people at once, a closed pipe, a killed import, Ctrl-C, PostgreSQL."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import belated

STORE = "sqlite:///belated.db"
MAIN = "import sys; from belated.cli import main; main(prog_name='belated')"
NEW = ("new", "lab", "--real", "x", "0", "1", "--silence", "unknown", "--seed", "0", "--patience", "9")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BELATED_STORE", raising=False)


def start(*args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", MAIN, *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(*args: str, code: int = 0) -> str:
    with start(*args) as ran:
        out, err = ran.communicate(timeout=60)
    assert ran.returncode == code, err
    assert "Traceback" not in err
    return out if code == 0 else err


def test_what_one_process_asks_another_tells() -> None:
    run(*NEW)
    asked = json.loads(run("ask", "--json"))
    assert "heard" in run("tell", str(asked["number"]), "-0.25")
    assert json.loads(run("best", "--json"))["value"] == -0.25
    assert "No such option" in run("tell", "1", "1", "--loud", code=2)


def test_asking_and_importing_at_once_loses_nothing() -> None:
    run(*NEW)
    Path("past.csv").write_text("x,outcome\n" + "".join(f"{i / 500},{i}\n" for i in range(500)))
    every = [start("import", "past.csv"), start("import", "past.csv"), start("ask", "-n", "3"), start("ask")]
    for ran in every:
        _, err = ran.communicate(timeout=60)
        assert ran.returncode == 0, err
    study = belated.Study.open(STORE, "lab")
    assert study.rounds == 504
    assert sum(trial.outcome is not None for trial in study.trials()) == 500
    assert "ok" in run("check")


def test_an_import_that_is_killed_is_whole_or_not_there() -> None:
    run(*NEW)
    Path("past.csv").write_text("x,outcome\n" + "".join(f"{i / 3000},{i}\n" for i in range(3000)))
    study = belated.Study.open(STORE, "lab")
    seen = set()
    for wait in (0.0, 0.2, 0.5):
        with start("import", "past.csv") as ran:
            time.sleep(wait)
            ran.send_signal(signal.SIGKILL)
            ran.communicate(timeout=60)
        seen.add(study.rounds)
    assert seen <= {0, 3000}
    run("import", "past.csv")
    assert study.rounds == 3000
    assert all(trial.outcome is not None for trial in study.trials())


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    run(*NEW)
    Path("past.csv").write_text("x,outcome\n" + "".join(f"{i / 3000},{i}\n" for i in range(3000)))
    run("import", "past.csv")
    read, write = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "export"], stdout=write, stderr=subprocess.PIPE, text=True
    ) as ran:
        os.close(write)
        os.read(read, 10)
        os.close(read)
        _, err = ran.communicate(timeout=60)
    assert err == ""
    assert ran.returncode == 128 + signal.SIGPIPE


def test_the_same_on_postgresql(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELATED_STORE", postgres_url)
    run(*NEW)
    run("ask", "-n", "3")
    Path("told.csv").write_text("number,value\n1,0.5\n3,0.25\n")
    assert "Told 2 outcomes" in run("tell", "--csv", "told.csv")
    run("export", "--out", "trials.jsonl")
    run("new", "copy", *NEW[2:])
    assert "3 new trials" in run("import", "copy", "trials.jsonl")
    assert "0 new trials, 3 here before" in run("import", "copy", "trials.jsonl")
    assert run("export", "copy", "--format", "jsonl") == Path("trials.jsonl").read_text()
    assert "ok" in run("check", "--all")
    assert not Path("belated.db").exists()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for the workers in /proc")
def test_an_interrupt_ends_the_demo_and_its_workers() -> None:
    """Ctrl-C in a terminal: the signal goes to the whole process group."""
    command = [sys.executable, "-c", MAIN, "demo", "--workers", "2", "--rounds", "2000"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as ran:
        children = Path(f"/proc/{ran.pid}/task/{ran.pid}/children")
        until = time.monotonic() + 30
        while len(children.read_text().split()) < 3:  # two workers, and the one that cleans up after them
            assert time.monotonic() < until, "the workers never came"
            assert ran.poll() is None
            time.sleep(0.05)
        workers = children.read_text().split()
        os.killpg(ran.pid, signal.SIGINT)
        out, err = ran.communicate(timeout=20)
    assert ran.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "Stopped."
    until = time.monotonic() + 10
    while any(map(is_running, workers)):
        assert time.monotonic() < until, "a worker lives on"
        time.sleep(0.05)


def is_running(pid: str) -> bool:
    """Whether a process runs: it exists, and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
