"""Clients in processes of their own, to be killed, starved or cut off.

`python client.py` serves: for every line [url, verb, words, out] it forks a client, which has everything imported, and
says its pid and then its exit status. A client writes "ready" to out, waits for SIGUSR1, does the verb, and writes what
it was answered. An error that belated means is one line, with exit status 2. `python client.py url verb` is one client
that does not wait.
"""

import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import belated
from belated.errors import Unreachable

NAME = "lab"
SPACE = {"x": belated.Real(0, 1), "n": belated.Integer(1, 64, log=True), "kind": belated.Choice("a", "b")}
GIVEN = {"x": 0.25, "n": 3, "kind": "b"}


def create(url: str, **words: Any) -> belated.Study:
    return belated.Study.create(url, NAME, space=SPACE, silence="floor", floor=0.0, patience=6, seed=7, **words)


def f(trial: belated.Trial) -> float:
    return float(trial.params["x"] * (1 + (trial.params["kind"] == "a")))


def fill(url: str, trials: int = 12) -> belated.Study:
    """A study in the middle of its life: some heard, some pending, beyond its space-filling start."""
    study = create(url)
    for i in range(trials):
        trial = study.ask(key=f"first-{i}")
        if i % 4 != 3:
            study.tell(trial, f(trial), key=f"told-{i}")
    return study


def answer(trial: belated.Trial) -> dict[str, Any]:
    return {"number": trial.number, "params": dict(trial.params)}


def ask(study: belated.Study) -> object:
    return answer(study.ask(key="the-ask"))


def batch(study: belated.Study) -> object:
    return [answer(trial) for trial in study.ask(n=3, key="the-batch")]


def tell(study: belated.Study) -> object:
    return study.tell(4, 0.5, key="the-tell").status


def add(study: belated.Study) -> object:
    return answer(study.add(GIVEN, 0.125, key="the-add"))


def fail(study: belated.Study) -> object:
    return study.fail(8, "infeasible").failure


def starved(study: belated.Study) -> object:
    """An ask that may use no more memory than there is already."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used, used))
    try:
        return answer(study.ask(key="the-ask"))
    except MemoryError:
        return "no memory"


def write(study: belated.Study, who: str, rounds: str) -> object:
    """Ask and tell, each with a key, until it is answered; say every answer."""
    for i in range(int(rounds)):
        trial = insist(lambda i=i: study.ask(key=f"ask-{who}-{i}"))
        say(["ask", f"ask-{who}-{i}", trial.number, dict(trial.params)])
        receipt = insist(lambda i=i, trial=trial: study.tell(trial, f(trial), key=f"tell-{who}-{i}"))
        say(["tell", trial.number, f(trial), receipt.status])
    return "done"


def insist(call: Callable[[], Any]) -> Any:
    """Call until the store can be reached, as a client does that has a key."""
    for _ in range(20):
        with suppress(Unreachable):
            return call()
    return call()


def full(study: belated.Study, most: str) -> object:
    for i in range(1000):
        study.ask(key=f"more-{i}")
        say(i)
    return "never full"


def slow(study: belated.Study, seconds: str) -> object:
    """An ask that takes its time: the clock that it reads while it holds the lock hangs."""

    def clock() -> float:
        say("asking")
        time.sleep(float(seconds))
        study.clock = time.time
        return time.time()

    study.clock = clock
    return ask(study)


VERBS: dict[str, Callable[..., object]] = {
    verb.__name__: verb for verb in (ask, batch, tell, add, fail, starved, full, slow, write)
}


out: IO[str] = sys.stdout


def say(word: object) -> None:
    out.write(json.dumps(word) + "\n")
    out.flush()


def ready() -> None:
    say("ready")
    if out is not sys.stdout:
        signal.sigwait({signal.SIGUSR1})


def main(url: str, verb: str, *words: str) -> None:
    if verb == "create":
        ready()
        say(create(url).seed)
        return
    if verb == "full":  # no file may grow beyond this many bytes
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(words[0]), int(words[0])))
    study = belated.Study.open(url, NAME)
    ready()
    say(VERBS[verb](study, *words))


def serve() -> int:
    """Fork a client for every line of the input; in the client, return its exit status."""
    global out
    warm = belated.Study.create(space=SPACE, silence="floor", floor=0.0, patience=6, initial=2)
    for _ in range(12):  # what is imported when it is first used, is now
        warm.tell(warm.ask(), 0.5)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})  # it waits until it is waited for
    for line in sys.stdin:
        url, verb, words, path = json.loads(line)
        pid = os.fork()
        if pid == 0:
            out = open(path, "w", encoding="ascii")  # noqa: SIM115 - open until the process ends
            try:
                main(url, verb, *words)
            except belated.BelatedError as error:
                say({"error": type(error).__name__, "sentence": str(error)})
                return 2
            except BaseException:
                say({"error": "not ours", "sentence": traceback.format_exc()})
                return 1
            return 0
        say(pid)
        say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 1 else serve())
