"""A whole run: real worker processes, real kills, Ctrl-C, and going on where an earlier run stopped."""

import json
import math
import os
import pty
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import belated
from belated.errors import InvalidInput, NoWorkers
from belated.execution.optimize import Run
from belated.record.check import check
from belated.validation import Params

ROOT = Path(__file__).resolve().parents[2]
SPACE = {"x": belated.Real(0, 1)}
SOON = 30.0  # seconds within which a machine under load does what it takes milliseconds to do


# What is optimised: at the top level, so that worker processes find it ------------------------------------------------


def hill(params: Params) -> float:
    return -((params["x"] - 0.3) ** 2)


def hill_here(params: Params, context: Params) -> float:
    return -((params["x"] - context["z"]) ** 2)


def noted(folder: Path, params: Params) -> float:
    """The hill, leaving a file per call that says who computed what."""
    note = folder / f"{os.getpid()}-{time.monotonic_ns()}.json"
    note.write_text(json.dumps({"pid": os.getpid(), "x": params["x"]}))
    return hill(params)


def deadly_once(folder: Path, params: Params) -> float:
    """Dies by kill -9 the first time that it is called with an x above 1/2."""
    value = noted(folder, params)
    if params["x"] > 0.5 and not (folder / "dead").exists():
        (folder / "dead").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def deadly(params: Params) -> float:
    if params["x"] > 0.5:
        os.kill(os.getpid(), signal.SIGKILL)
    return hill(params)


def hanging_once(folder: Path, params: Params) -> float:
    value = noted(folder, params)
    try:
        (folder / "hung").touch(exist_ok=False)
    except FileExistsError:
        return value
    time.sleep(600)
    return value


def moody(params: Params) -> Any:
    if params["x"] < 0.2:
        raise belated.Infeasible("too cold")
    if params["x"] < 0.4:
        raise ValueError("no\nluck")
    if params["x"] < 0.6:
        return math.nan
    if params["x"] < 0.8:
        return "0.5"
    return hill(params)


def leaving(params: Params) -> float:
    sys.exit(3)


class Unpicklable(Exception):
    def __init__(self, one: object, two: object) -> None:
        super().__init__("odd")


def odd(params: Params) -> float:
    raise Unpicklable(1, 2)


def notes(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json")) if path.stat().st_size]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SOON
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(params=["memory", "sqlite"])
def create(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., belated.Study]:
    """Study.create, in memory and in a file; space-filling queries, for the choices are not at issue."""
    return creating(None if request.param == "memory" else f"sqlite:///{tmp_path}/lab.db")


def creating(url: str | None) -> Callable[..., belated.Study]:
    where = () if url is None else (url, "s")
    return lambda **said: belated.Study.create(
        *where, **{"space": SPACE, "silence": "unknown", "seed": 0, "initial": 1000} | said
    )


@pytest.fixture
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(4) as executor:
        yield executor


# The usual --------------------------------------------------------------------------------------------------------


def test_processes_evaluate_and_running_again_does_only_what_is_missing(
    create: Callable[..., belated.Study], tmp_path: Path
) -> None:
    study, f = create(), partial(noted, tmp_path)
    assert study.optimize(f, rounds=8, workers=2) == Run(asked=8, told=8)
    trials = study.trials()
    assert [trial.status for trial in trials] == ["heard"] * 8
    assert all(trial.outcome == hill(trial.params) for trial in trials)
    pids = {note["pid"] for note in notes(tmp_path)}
    assert 1 <= len(pids) <= 2
    assert os.getpid() not in pids
    assert not any(map(alive, pids))  # they are gone when it returns
    assert study.optimize(f, rounds=8) == Run()
    assert study.optimize(f, rounds=10, workers=1) == Run(asked=2, told=2)
    assert len(notes(tmp_path)) == study.rounds == 10


def test_pending_trials_come_first_and_count(create: Callable[..., belated.Study]) -> None:
    study, seen = create(), []

    def f(params: Params) -> float:
        seen.append(params["x"])
        return hill(params)

    left = [study.ask(), study.add({"x": 0.77})]
    study.tell(study.ask(), 0.0)
    study.fail(study.ask(), "lost")
    with ThreadPoolExecutor(1) as executor:
        assert study.optimize(f, rounds=6, workers=1, executor=executor) == Run(asked=2, resumed=2, told=4)
    assert seen[:2] == [trial.params["x"] for trial in left]
    assert [trial.status for trial in study.trials()] == ["heard"] * 3 + ["failed"] + ["heard"] * 2


def test_resume_false_leaves_what_others_have_out(create: Callable[..., belated.Study], threads: Executor) -> None:
    study = create()
    study.ask()
    assert study.optimize(hill, rounds=3, executor=threads, resume=False) == Run(asked=2, told=2)
    assert [trial.status for trial in study.trials()] == ["pending", "heard", "heard"]


def test_as_many_calls_are_out_as_there_are_workers(create: Callable[..., belated.Study]) -> None:
    together = threading.Barrier(3, timeout=SOON)

    def f(params: Params) -> float:
        together.wait()  # passes only when three are here at once
        return hill(params)

    with ThreadPoolExecutor(8) as executor:
        assert create().optimize(f, rounds=9, workers=3, executor=executor).told == 9


def test_every_ask_knows_the_outcomes_that_have_come(create: Callable[..., belated.Study]) -> None:
    study = create()
    with ThreadPoolExecutor(1) as executor:
        study.optimize(hill, rounds=6, workers=1, executor=executor)
    assert [trial.delay for trial in study.trials()] == [1.0] * 6


def test_it_optimises(threads: Executor) -> None:
    study = belated.Study.create(space=SPACE, silence="unknown", seed=0)
    study.optimize(hill, rounds=25, executor=threads)
    assert abs(study.best().params["x"] - 0.3) < 0.02


def test_contexts_go_by_the_number_of_the_round(create: Callable[..., belated.Study], threads: Executor) -> None:
    study = create(context={"z": belated.Real(0, 1)})
    contexts = [{"z": s / 10} for s in range(1, 9)]
    study.optimize(hill_here, rounds=3, workers=2, contexts=contexts)  # processes
    study.ask(context={"z": 0.9})
    study.optimize(hill_here, rounds=6, contexts=contexts, executor=threads)
    study.optimize(hill_here, rounds=8, contexts=lambda s: {"z": s / 10}, executor=threads)
    assert [trial.context["z"] for trial in study.trials() if trial.context] == [0.1, 0.2, 0.3, 0.9, 0.5, 0.6, 0.7, 0.8]
    assert all(trial.outcome == -((trial.params["x"] - trial.context["z"]) ** 2) for trial in study.trials())
    study.optimize(hill_here, rounds=9, contexts=iter([{"z": 1.0}]), executor=threads)
    with pytest.raises(InvalidInput, match="contexts ended before round 10"):
        study.optimize(hill_here, rounds=10, contexts=iter([]), executor=threads)


def test_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    """Worker processes, an exception, a kill -9, and going on; the study is in a database."""
    study = creating(postgres_url)()
    assert study.optimize(partial(deadly_once, tmp_path), rounds=6, workers=2) == Run(asked=6, told=6)
    assert (tmp_path / "dead").exists()
    left = study.ask()
    assert study.optimize(partial(noted, tmp_path), rounds=9, workers=2) == Run(asked=2, resumed=1, told=3)
    trials = belated.Study.open(postgres_url, "s").trials()
    assert [trial.status for trial in trials] == ["heard"] * 9
    assert all(trial.outcome == hill(trial.params) for trial in trials)
    assert trials[6].params == left.params
    for x in (0.1, 0.3):
        study.add({"x": x})
    run = study.optimize(moody, rounds=11, workers=2)
    assert (run.infeasible, run.lost, run.resumed) == (1, 1, 2)
    assert study.rounds == 11
    report = check(postgres_url, "s")
    assert report.ok, str(report)


def test_a_round_too_many_is_withdrawn_and_not_evaluated(url: str, threads: Executor) -> None:
    """Someone else asks after the rounds were counted and before this run asks."""
    study = creating(url)(context={"z": belated.Real(0, 1)})
    other = belated.Study.open(url, "s")
    calls = []

    def contexts(s: int) -> Params:
        if s == 4:
            other.ask(context={"z": 0.5})
        return {"z": s / 10}

    def f(params: Params, context: Params) -> float:
        calls.append(context["z"])
        return 0.0

    run = study.optimize(f, rounds=4, workers=1, executor=threads, contexts=contexts, resume=False)
    assert run == Run(asked=3, told=3, withdrawn=1)
    assert str(run) == "3 asked, 0 resumed, 3 told, 1 withdrawn"
    assert [(trial.status, trial.failure) for trial in study.trials()[3:]] == [
        ("pending", None),
        ("failed", "withdrawn"),
    ]
    assert calls == [0.1, 0.2, 0.3]
    assert study.optimize(f, rounds=4, executor=threads, contexts=contexts) == Run(resumed=1, told=1)
    assert study.optimize(f, rounds=4, executor=threads, contexts=contexts) == Run()


# What may go wrong in f -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pool", [pytest.param("processes", marks=pytest.mark.faults), "threads"])
def test_exceptions_and_odd_values(
    create: Callable[..., belated.Study], threads: Executor, pool: str, caplog: pytest.LogCaptureFixture
) -> None:
    study = create(goal="maximize", limits=(-0.3, 1.0))
    for x in (0.9, 0.1, 0.3, 0.5, 0.7, 1.0):
        study.add({"x": x})
    run = study.optimize(moody, rounds=6, workers=1, executor=threads if pool == "threads" else None)
    assert (run.told, run.infeasible, run.lost, run.resumed) == (0, 1, 5, 6)
    assert "limits" in run.reason
    failures = [trial.failure for trial in study.trials()]
    assert failures == ["lost", "infeasible", "lost", "lost", "lost", "lost"]
    assert "5 lost (the last one: value must lie within the limits" in caplog.messages[-1]
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]  # the first, and the sum


def test_reasons_are_one_line(create: Callable[..., belated.Study], threads: Executor) -> None:
    for x, reason in ((0.3, "ValueError: no luck"), (0.5, "the value of f must be a finite number (got nan)")):
        study = create() if x == 0.3 else belated.Study.create(space=SPACE, silence="unknown", seed=0)
        study.add({"x": x})
        assert study.optimize(moody, rounds=1, executor=threads).reason == reason


def test_reasons_from_a_process_are_one_line_too() -> None:
    study = belated.Study.create(space=SPACE, silence="unknown", seed=0)
    assert study.optimize(leaving, rounds=2, workers=1).reason == "SystemExit: 3"  # in a process that goes on
    assert study.optimize(odd, rounds=3, workers=1).reason == "Unpicklable: odd"


def test_a_later_outcome_of_a_lost_trial_is_taken(threads: Executor) -> None:
    study = belated.Study.create(space=SPACE, silence="unknown", seed=0)
    study.add({"x": 0.3})
    assert study.optimize(moody, rounds=1, executor=threads).lost == 1
    assert study.tell(1, 0.5).status == "heard"


def test_someone_else_told_meanwhile(tmp_path: Path, threads: Executor) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    study = belated.Study.create(url, "s", space=SPACE, silence="unknown", seed=0, initial=1000)
    other = belated.Study.open(url, "s")
    study.ask(n=3)

    def f(params: Params) -> float:
        number = next(trial.number for trial in other.trials() if trial.params == params)
        if number == 1:
            other.tell(1, hill(params))  # the same: a duplicate
        elif number == 2:
            other.tell(2, 7.0)  # another: ours is refused
        elif number == 3:
            other.fail(3, "withdrawn")
            raise ValueError
        return hill(params)

    run = study.optimize(f, rounds=4, workers=1, executor=threads)
    assert (run.told, run.refused, run.lost) == (2, 2, 0)
    assert [trial.outcome for trial in study.trials()][1:3] == [7.0, None]


def test_a_closed_study_and_an_exhausted_one(create: Callable[..., belated.Study], threads: Executor) -> None:
    study = create()
    study.ask()
    study.close()
    run = study.optimize(hill, rounds=5, executor=threads)
    assert (run.asked, run.told) == (0, 1)
    assert "closed" in run.ended
    few = belated.Study.create(space=belated.Points([0.1, 0.2, 0.3]), silence="unknown", repeats="never", seed=0)
    run = few.optimize(hill, rounds=5, executor=threads)
    assert (run.asked, run.told) == (3, 3)
    assert "never" in run.ended


# Workers that die or hang ---------------------------------------------------------------------------------------------


@pytest.mark.faults
def test_a_killed_worker_is_replaced_and_its_trial_evaluated_again(
    create: Callable[..., belated.Study], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study = create()
    assert study.optimize(partial(deadly_once, tmp_path), rounds=6, workers=2) == Run(asked=6, told=6)
    assert (tmp_path / "dead").exists()
    assert len(notes(tmp_path)) == 7  # one twice, and what ran beside it once
    assert "evaluated again: its worker process died" in caplog.text


@pytest.mark.faults
def test_a_trial_that_kills_its_worker_twice_is_lost(create: Callable[..., belated.Study]) -> None:
    study = create()
    for x in (0.1, 0.9, 0.2):
        study.add({"x": x})
    run = study.optimize(deadly, rounds=3, workers=1)
    assert (run.told, run.lost, run.resumed) == (2, 1, 3)
    assert run.reason == "its worker process died (killed, or out of memory), twice"
    assert [trial.failure for trial in study.trials()] == [None, "lost", None]


@pytest.mark.faults
def test_a_call_that_hangs_is_not_waited_for(create: Callable[..., belated.Study], tmp_path: Path) -> None:
    study = create(patience="6s")  # starting another worker may take seconds on a busy machine
    start = time.monotonic()
    run = study.optimize(partial(hanging_once, tmp_path), rounds=5, workers=1)
    assert time.monotonic() - start < 2 * SOON
    assert (run.asked, run.told, run.unheard) == (5, 4, 1)
    assert [trial.status for trial in study.trials()] == ["expired"] + ["heard"] * 4
    assert not any(alive(note["pid"]) for note in notes(tmp_path))  # the one that hung was ended
    again = study.optimize(partial(noted, tmp_path), rounds=5, workers=1)  # it may have been interrupted, not hung
    assert (again.resumed, again.told) == (1, 1)
    assert study.trial(1).status == "late"


def test_a_late_outcome_is_told_when_it_comes_before_the_end(create: Callable[..., belated.Study]) -> None:
    study, calls, others = create(patience=3), [], threading.Event()

    def f(params: Params) -> float:
        calls.append(params["x"])
        if len(calls) == 1:
            assert others.wait(SOON)
        elif len(calls) == 8:
            others.set()
        elif len(calls) > 8:
            time.sleep(0.1)
        return hill(params)

    with ThreadPoolExecutor(8) as executor:
        run = study.optimize(f, rounds=12, workers=2, executor=executor)
    assert (run.told, run.unheard) == (12, 0)
    assert study.trial(1).status == "late"


def test_short_patience_in_rounds_does_not_ask_everything_at_once(create: Callable[..., belated.Study]) -> None:
    study, out, most, lock = create(patience=1), 0, 0, threading.Lock()

    def f(params: Params) -> float:
        nonlocal out, most
        with lock:
            out += 1
            most = max(most, out)
        time.sleep(0.02)
        with lock:
            out -= 1
        return hill(params)

    with ThreadPoolExecutor(64) as executor:
        study.optimize(f, rounds=60, workers=4, executor=executor)
    assert most <= 4 * (1 + 4)
    assert study.rounds == 60


def test_nothing_is_asked_for_workers_that_are_all_stuck(create: Callable[..., belated.Study]) -> None:
    study, go = create(patience="50ms"), threading.Event()

    def f(params: Params) -> float:
        assert go.wait(SOON)
        return hill(params)

    def release() -> None:
        asked.append(study.rounds)
        go.set()

    asked: list[int] = []
    with ThreadPoolExecutor(2) as executor:
        timer = threading.Timer(1.0, release)
        timer.start()
        study.optimize(f, rounds=12, workers=2, executor=executor)
        timer.join()
    assert asked == [4]  # two that hang, two that wait for a thread; twenty patiences have passed
    assert study.rounds == 12


# Executors that are handed in -----------------------------------------------------------------------------------------


def test_an_executor_that_breaks_or_is_shut_down_loses_nothing(create: Callable[..., belated.Study]) -> None:
    study = create()
    study.add({"x": 0.9})
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        with pytest.raises(NoWorkers, match="stay pending"):
            study.optimize(deadly, rounds=1, executor=executor)
        with pytest.raises(NoWorkers, match="takes no more work"):
            study.optimize(hill, rounds=1, executor=executor)
    assert [trial.status for trial in study.trials()] == ["pending"]
    with ThreadPoolExecutor(1) as executor:
        assert study.optimize(hill, rounds=1, executor=executor) == Run(resumed=1, told=1)
        assert executor.submit(abs, -1).result() == 1  # it is not ours to shut down


def test_an_executor_that_cannot_take_f(create: Callable[..., belated.Study]) -> None:
    study = create()
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with pool as executor, pytest.raises(NoWorkers, match="could not evaluate f"):
        study.optimize(lambda params: 0.0, rounds=3, workers=1, executor=executor)
    assert [trial.status for trial in study.trials()] == ["pending"]


class HalfBroken(Executor):
    """Breaks with the second call, which it still answers."""

    def __init__(self) -> None:
        self.first: Future[Any] | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.first is None:
            self.first = future
        else:
            future.set_result(fn(*args, **kwargs))
            self.first.set_exception(BrokenExecutor("gone"))
        return future


def test_what_came_is_told_before_a_broken_executor_is_the_end(create: Callable[..., belated.Study]) -> None:
    study = create()
    with pytest.raises(NoWorkers, match="BrokenExecutor: gone"):
        study.optimize(hill, rounds=5, workers=2, executor=HalfBroken())
    assert [trial.status for trial in study.trials()] == ["pending", "heard"]


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        (
            {"f": lambda params: 0.0},
            r"define it at the top level of a module, or hand in executor=ThreadPool.*<lambda>",
        ),
        ({"f": 3}, r"f must be a function of \(params\) \(got 3\)"),
        ({"f": hill_here}, r"f must take \(params\)"),
        ({"rounds": -1}, r"rounds must be at least 0 \(got -1\)"),
        ({"rounds": 1.5}, "rounds must be an integer"),
        ({"workers": 0}, r"workers must be at least 1 \(got 0\)"),
        ({"executor": 4}, r"executor must be a concurrent.futures.Executor \(got 4\)"),
        ({"contexts": []}, "contexts must be left out"),
    ],
)
def test_bad_input_asks_nothing(said: dict[str, Any], rule: str) -> None:
    study = belated.Study.create(space=SPACE, silence="unknown", seed=0)
    with pytest.raises(InvalidInput, match=rule):
        study.optimize(**{"f": hill, "rounds": 3} | said)
    assert study.rounds == 0


def test_bad_input_with_a_context() -> None:
    study = belated.Study.create(space=SPACE, context=SPACE, silence="unknown", seed=0)
    with pytest.raises(InvalidInput, match="contexts must be given"):
        study.optimize(hill_here, rounds=1)
    with pytest.raises(InvalidInput, match=r"f must take \(params, context\)"):
        study.optimize(hill, rounds=1, contexts=[{"x": 0.1}])
    with pytest.raises(InvalidInput, match=r"contexts must have one for each of 2 rounds \(got 1\)"):
        study.optimize(hill_here, rounds=2, contexts=[{"x": 0.1}])


# Scripts --------------------------------------------------------------------------------------------------------------

SCRIPT = """
import os, sys, time
from pathlib import Path
import belated

URL = {url!r}

def f(params):
    Path(f"{{time.monotonic_ns()}}-{{os.getpid()}}.call").write_text(repr(params["x"]))
    while Path("slow").exists():
        time.sleep(0.05)
    return -(params["x"] - 0.3) ** 2

def main(**said):
    study = belated.Study.create(
        URL, "s", space=dict(x=belated.Real(0, 1)), silence="unknown", seed=0, initial=1000
    )
    print(study.optimize(f, **said))
    assert "rich" not in sys.modules or sys.stderr.isatty()
"""
GUARDED = 'if __name__ == "__main__":\n    main(**eval(sys.argv[1]))\n'


class Script:
    """A user's script in a folder of its own, started in a session of its own."""

    def __init__(self, folder: Path, end: str = GUARDED, url: str = "") -> None:
        self.folder, self.url = folder, url or f"sqlite:///{folder}/lab.db"
        (folder / "script.py").write_text(textwrap.dedent(SCRIPT).format(url=self.url) + end)

    def start(self, said: str = "{}", **how: Any) -> subprocess.Popen[str]:
        words = [sys.executable, "-W", "error", "script.py", said]
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
        return subprocess.Popen(words, cwd=self.folder, env=env, text=True, start_new_session=True, **pipes)

    def run(self, said: str = "{}") -> str:
        out, err = self.start(said).communicate(timeout=2 * SOON)
        assert not err
        return out

    def calls(self) -> list[float]:
        return [float(path.read_text() or "nan") for path in sorted(self.folder.glob("*.call"))]

    def pids(self) -> set[int]:
        return {int(path.stem.partition("-")[2]) for path in self.folder.glob("*.call")}

    def study(self) -> belated.Study:
        return belated.Study.open(self.url, "s")

    def slow(self, on: bool) -> None:
        (self.folder / "slow").touch() if on else (self.folder / "slow").unlink()


@pytest.mark.faults
def test_ctrl_c_loses_nothing(tmp_path: Path, url: str) -> None:
    script = Script(tmp_path, url=url)
    assert "3 told" in script.run("dict(rounds=3, workers=2)")
    script.slow(True)
    running = script.start("dict(rounds=9, workers=3)")
    assert eventually(lambda: len(script.calls()) == 6)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to everyone
    _, err = running.communicate(timeout=SOON)
    assert running.returncode == -signal.SIGINT
    assert "stopped; what was being evaluated stays pending (3): run it again" in err
    assert err.count("Traceback") == 1
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert not any(map(alive, script.pids()))
    assert [trial.status for trial in script.study().trials()] == ["heard"] * 3 + ["pending"] * 3
    script.slow(False)
    before = len(script.calls())
    assert "3 asked, 3 resumed, 6 told" in script.run("dict(rounds=9, workers=1)")
    trials = script.study().trials()
    assert [trial.status for trial in trials] == ["heard"] * 9
    assert script.calls()[before : before + 3] == [trial.params["x"] for trial in trials[3:6]]


class Pressed(belated.Study):
    """Ctrl-C comes as the second ask begins, when the outcome of trial 1 has come and is not told yet."""

    evaluated = threading.Event()

    def ask(self, **said: Any) -> Any:
        if self.rounds == 1:
            assert self.evaluated.wait(SOON)
            time.sleep(0.5)
            signal.raise_signal(signal.SIGINT)
        return super().ask(**said)


def test_ctrl_c_in_the_middle_of_an_ask_waits_for_its_end(threads: Executor) -> None:
    study = Pressed.create(space=SPACE, silence="unknown", seed=0)

    def f(params: Params) -> float:
        study.evaluated.set()
        time.sleep(0.1)
        return hill(params)

    with pytest.raises(KeyboardInterrupt):
        study.optimize(f, rounds=5, workers=4, executor=threads)
    assert [trial.status for trial in study.trials()] == ["heard", "pending"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert study.optimize(f, rounds=5, executor=threads) == Run(resumed=1, asked=3, told=4)


@pytest.mark.faults
def test_workers_leave_ctrl_c_to_their_parent(tmp_path: Path) -> None:
    script = Script(tmp_path)
    running = script.start("dict(rounds=40, workers=3)")
    while running.poll() is None:  # from the first moment of their lives
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, parent = int(path.parent.name), int(path.read_text().rpartition(")")[2].split()[1])
                if parent == running.pid:
                    os.kill(pid, signal.SIGINT)
            except (FileNotFoundError, ProcessLookupError):
                continue
        time.sleep(0.002)
    out, err = running.communicate()
    assert not err
    assert "40 told" in out


@pytest.mark.faults
def test_ctrl_c_while_workers_start(tmp_path: Path) -> None:
    script = Script(tmp_path)
    script.slow(True)
    running = script.start("dict(rounds=9, workers=4)")
    assert eventually(lambda: len(script.calls()) >= 1)  # one works, three are starting
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=SOON)
    assert err.count("Traceback") == 1
    assert {trial.status for trial in script.study().trials()} == {"pending"}
    assert not any(map(alive, script.pids()))


@pytest.mark.faults
def test_workers_end_with_their_parent(tmp_path: Path, url: str) -> None:
    script = Script(tmp_path, url=url)
    script.slow(True)
    running = script.start("dict(rounds=9, workers=2)")
    assert eventually(lambda: len(script.calls()) == 2)
    running.kill()
    running.communicate(timeout=SOON)
    assert eventually(lambda: not any(map(alive, script.pids())))
    script.slow(False)
    assert "7 asked, 2 resumed, 9 told" in script.run("dict(rounds=9, workers=2)")


@pytest.mark.faults
def test_two_processes_share_a_study(tmp_path: Path, url: str) -> None:
    script = Script(tmp_path, url=url)
    both = [script.start("dict(rounds=30, workers=2, resume=False)") for _ in range(2)]
    said = [one.communicate(timeout=2 * SOON) for one in both]
    assert [err for _, err in said] == ["", ""]
    trials = script.study().trials()
    assert [trial.status for trial in trials[:30]] == ["heard"] * 30
    assert [trial.failure for trial in trials[30:]] in ([], ["withdrawn"])  # two may be asked at the same moment
    assert sorted(script.calls()) == sorted(trial.params["x"] for trial in trials[:30])  # each was evaluated once
    assert all(trial.knew_trials == trial.number - 1 for trial in trials)


@pytest.mark.faults
def test_a_script_without_a_guard_is_told_so_and_asks_nothing(tmp_path: Path) -> None:
    running = Script(tmp_path, end="main(rounds=3, workers=2)\n").start()
    _, err = running.communicate(timeout=SOON)
    assert running.returncode == 1
    assert 'must call optimize under if __name__ == "__main__":' in err.splitlines()[-1]
    assert Script(tmp_path).study().rounds == 0


@pytest.mark.faults
def test_a_function_typed_at_the_prompt_is_told_so() -> None:
    source = (
        "import belated\n"
        "def f(params): return 0.0\n"
        "study = belated.Study.create(space={'x': belated.Real(0, 1)}, silence='unknown', seed=0)\n"
        "try: study.optimize(f, rounds=3)\n"
        "except belated.InvalidInput as error: print(error, study.rounds)\n"
    )
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=SOON, check=False)
    assert "f cannot be found in a worker process" in ran.stdout
    assert ran.stdout.endswith(" 0\n")
    assert not ran.stderr


def test_a_bar_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        running = Script(tmp_path).start("dict(rounds=4, workers=1)", stderr=theirs)
        os.close(theirs)
        seen = b""
        while True:
            try:
                seen += (part := os.read(ours, 4096))
            except OSError:  # the other end is closed
                break
            if not part:
                break
        out, _ = running.communicate(timeout=SOON)
    finally:
        os.close(ours)
    assert "4 told" in out
    assert b"4/4" in seen
    assert b"best -" in seen
