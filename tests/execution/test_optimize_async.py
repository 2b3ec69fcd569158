"""Coroutines: the same run in an event loop. To cancel it loses nothing."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import belated
from belated.errors import InvalidInput
from belated.execution.optimize import Run
from belated.validation import Params

ROOT = Path(__file__).resolve().parents[2]
SOON = 30.0  # seconds within which a machine under load does what it takes milliseconds to do


async def hill(params: Params) -> float:
    await asyncio.sleep(0)
    return -((params["x"] - 0.3) ** 2)


def create(**said: Any) -> belated.Study:
    """Space-filling queries: the choices are not at issue."""
    return belated.Study.create(
        **{"space": {"x": belated.Real(0, 1)}, "silence": "unknown", "seed": 0, "initial": 1000} | said
    )


def test_running_again_does_only_what_is_missing() -> None:
    study = create()
    study.ask()
    assert asyncio.run(study.optimize_async(hill, rounds=8)) == Run(asked=7, resumed=1, told=8)
    assert asyncio.run(study.optimize_async(hill, rounds=8)) == Run()
    assert [trial.outcome for trial in study.trials()] == [-((t.params["x"] - 0.3) ** 2) for t in study.trials()]


def test_choices_are_those_of_optimize() -> None:
    """With one worker there is one order."""
    coroutines, processes = (create(initial=2) for _ in range(2))
    asyncio.run(coroutines.optimize_async(hill, rounds=6, workers=1))
    for _ in range(6):
        trial = processes.ask()
        processes.tell(trial, -((trial.params["x"] - 0.3) ** 2))
    assert [trial.params for trial in coroutines.trials()] == [trial.params for trial in processes.trials()]


def test_as_many_are_out_as_there_are_workers_in_the_threads_own_loop() -> None:
    async def main() -> Run:
        together, here = asyncio.Barrier(3), threading.current_thread()

        async def f(params: Params) -> float:
            assert threading.current_thread() is here
            await asyncio.wait_for(together.wait(), SOON)  # passes only when three are here at once
            return 0.0

        return await create().optimize_async(f, rounds=9, workers=3)

    assert asyncio.run(main()).told == 9


def test_asks_do_not_hold_up_the_event_loop() -> None:
    """While a query is chosen, the coroutines of others go on."""
    asking, ticked = threading.Event(), threading.Event()

    class Slow(belated.Study):
        def ask(self, **said: Any) -> Any:
            asking.set()
            assert ticked.wait(SOON)
            return super().ask(**said)

    async def main() -> Run:
        study = Slow.create(space={"x": belated.Real(0, 1)}, silence="unknown", seed=0)
        run = asyncio.create_task(study.optimize_async(hill, rounds=1))
        while not asking.is_set():
            await asyncio.sleep(0.001)
        ticked.set()
        return await run

    assert asyncio.run(main()).told == 1


def test_what_may_go_wrong_in_f(caplog: pytest.LogCaptureFixture) -> None:
    async def moody(params: Params) -> Any:
        if params["x"] < 0.2:
            raise belated.Infeasible("too cold")
        if params["x"] < 0.4:
            raise ValueError("no luck")
        if params["x"] < 0.6:
            raise SystemExit(3)
        if params["x"] < 0.8:
            raise asyncio.CancelledError  # a task of its own was cancelled
        return "0.5"

    study = create()
    for x in (0.1, 0.3, 0.5, 0.7, 0.9):
        study.add({"x": x})
    run = asyncio.run(study.optimize_async(moody, rounds=5, workers=1))
    assert (run.infeasible, run.lost, run.told) == (1, 4, 0)
    assert "trial 4 is evaluated again: its evaluation was cancelled" in caplog.messages
    assert "the value of f must be a number (got '0.5')" in run.reason


def test_an_evaluation_that_outlasts_patience_is_cancelled_at_the_end() -> None:
    cancelled = []

    async def main() -> Run:
        study, calls = create(patience="50ms"), []

        async def f(params: Params) -> float:
            calls.append(params)
            if len(calls) == 1:
                try:
                    await asyncio.sleep(SOON)
                except asyncio.CancelledError:
                    cancelled.append(params)
                    raise
            return 0.0

        run = await study.optimize_async(f, rounds=4, workers=1)
        assert cancelled == calls[:1]  # when it returns, nothing is left running
        assert study.trial(1).status == "expired"
        return run

    assert asyncio.run(main()) == Run(asked=4, told=3, unheard=1)


def test_until_and_callbacks_work_as_in_optimize() -> None:
    study = create()
    run = asyncio.run(study.optimize_async(hill, more=9, workers=1, callbacks=[lambda study, trial: trial.number == 2]))
    assert (run.told, run.ended) == (2, "a callback stopped it after trial 2")
    assert asyncio.run(study.optimize_async(hill, more=9, workers=1, until=-1.0)).asked == 0


def test_cancelling_tells_what_has_come_and_the_rest_stays_pending(caplog: pytest.LogCaptureFixture) -> None:
    study, ended = create(), []

    async def main() -> None:
        out = asyncio.Event()

        async def f(params: Params) -> float:
            if params == study.trial(1).params:
                return 0.5
            try:
                if study.rounds == 3:
                    out.set()
                await asyncio.sleep(SOON)
            finally:
                ended.append(params)
            return 0.0

        run = asyncio.create_task(study.optimize_async(f, rounds=3, workers=3))
        await asyncio.wait_for(out.wait(), SOON)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert len(ended) == 2  # nothing is left running

    asyncio.run(main())
    assert [trial.status for trial in study.trials()] == ["heard", "pending", "pending"]
    assert "stopped; what was being evaluated stays pending (2): run it again" in caplog.messages
    assert asyncio.run(study.optimize_async(hill, rounds=3)) == Run(resumed=2, told=2)


def test_cancelling_in_the_middle_of_an_ask_waits_for_its_end() -> None:
    asking, go = threading.Event(), threading.Event()

    class Slow(belated.Study):
        def ask(self, **said: Any) -> Any:
            asking.set()
            assert go.wait(SOON)
            return super().ask(**said)

    study = Slow.create(space={"x": belated.Real(0, 1)}, silence="unknown", seed=0)

    async def main() -> None:
        run = asyncio.create_task(study.optimize_async(hill, rounds=5))
        while not asking.is_set():
            await asyncio.sleep(0.001)
        run.cancel()
        await asyncio.sleep(0.05)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())
    assert [trial.status for trial in study.trials()] == ["pending"]
    assert asyncio.run(study.optimize_async(hill, rounds=5)) == Run(asked=4, resumed=1, told=5)


def test_a_callable_object_and_a_partial_are_coroutine_functions_too() -> None:
    class Hill:
        async def __call__(self, params: Params) -> float:
            return await hill(params)

    study = create()
    assert asyncio.run(study.optimize_async(Hill(), more=1)).told == 1
    assert asyncio.run(study.optimize_async(partial(hill), more=1)).told == 1


def test_bad_input_asks_nothing() -> None:
    async def hill_here(params: Params, context: Params) -> float:
        return 0.0

    study = create()
    with pytest.raises(InvalidInput, match="f must be a coroutine function"):
        asyncio.run(study.optimize_async(lambda params: 0.0, rounds=3))
    with pytest.raises(InvalidInput, match=r"f must take \(params\)"):
        asyncio.run(study.optimize_async(hill_here, rounds=3))
    assert study.rounds == 0


SCRIPT = """
import asyncio
import belated

async def f(params):
    print("called", flush=True)
    await asyncio.sleep(600)
    return 0.0

study = belated.Study.create(
    "sqlite:///lab.db", "s", space=dict(x=belated.Real(0, 1)), silence="unknown", seed=0, initial=1000
)
asyncio.run(study.optimize_async(f, rounds=9, workers=2))
"""


def test_ctrl_c_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    running = subprocess.Popen(
        [sys.executable, "-W", "error", "script.py"],
        cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert running.stdout is not None
    assert [running.stdout.readline() for _ in range(2)] == ["called\n"] * 2
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=SOON)
    assert running.returncode == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert "stays pending (2)" in err
    study = belated.Study.open(f"sqlite:///{tmp_path}/lab.db", "s")
    assert [trial.status for trial in study.trials()] == ["pending", "pending"]
    assert asyncio.run(study.optimize_async(hill, rounds=3)) == Run(asked=1, resumed=2, told=3)
