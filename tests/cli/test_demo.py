"""`belated demo` as a person and as a script meet it: table, JSON, picture, refusals, an interrupt, no matplotlib."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import belated
from belated.cli import COMMANDS
from belated.simulation.contest import METHODS
from tests.cli.shell import parsed, run

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")

SMALL = ["demo", "--seeds", "2", "--rounds", "15", "--points", "60", "--workers", "1"]


def python(script: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *args], capture_output=True, text=True, check=False
    )


def test_the_table_has_a_row_per_algorithm_and_the_picture_is_there() -> None:
    ran = run(*SMALL)
    assert ran.exit_code == 0
    lines = ran.stdout.splitlines()
    number = r"\d+\.\d+±\d+\.\d+"
    for entrant in METHODS:
        row = rf"{re.escape(entrant.algorithm)} +{entrant.silence} +({number} +){{4}}\d+\.\d"
        assert sum(re.fullmatch(row, line.rstrip()) is not None for line in lines) == 1, entrant
    assert "round 3" in ran.stdout
    assert "round 7" in ran.stdout
    assert "round 15" in ran.stdout
    assert "mean ± standard error of 2 seeds" in ran.stdout
    assert "After 15 rounds (mean of 2 seeds)" in ran.stdout
    assert "The picture: belated-demo.png" in ran.stdout
    assert max(map(len, lines)) <= 80
    assert "8 algorithms, 2 seeds" in ran.stderr
    assert "16/16" in ran.stderr
    picture = Path("belated-demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 50_000


def test_json_is_all_that_is_printed_and_says_what_the_table_says() -> None:
    ran = run(*SMALL, "--json")
    assert ran.exit_code == 0
    assert ran.stderr == ""
    printed = json.loads(ran.stdout)
    assert printed["picture"] is None
    assert not list(Path.cwd().iterdir())
    assert printed["seeds"] == [0, 1]
    assert printed["task"]["points"] == 60
    assert [(row["algorithm"], row["silence"]) for row in printed["algorithms"]] == [
        (entrant.algorithm, entrant.silence) for entrant in METHODS
    ]
    for row in printed["algorithms"]:
        for regret in (row["simple_regret"], row["cumulative_regret"]):
            assert len(regret["mean"]) == len(regret["standard_error"]) == 15
        assert row["cpu_seconds_per_ask"] > 0
    best = min(row["simple_regret"]["mean"][-1] for row in printed["algorithms"])
    assert f"least simple regret, {best:.4f}" in printed["seen"]


def test_json_of_one_seed_has_no_standard_error_and_no_nan() -> None:
    ran = run(*SMALL, "--seeds", "1", "--json", "--out", "small.png", "--dpi", "40")
    printed = parsed(ran)
    assert printed["algorithms"][0]["simple_regret"]["standard_error"] == [None] * 15
    assert printed["picture"] == "small.png"
    assert 5_000 < Path("small.png").stat().st_size < 100_000


def test_two_workers_find_what_one_finds() -> None:
    def numbers(workers: str) -> list[object]:
        printed = json.loads(run(*SMALL, "--json", "--rounds", "8", "--workers", workers).stdout)
        return [(row["simple_regret"], row["cumulative_regret"]) for row in printed["algorithms"]]

    assert numbers("1") == numbers("2")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--seeds", "0"], "--seeds must be at least 1 (got 0)"),
        (["--rounds", "-3"], "--rounds must be at least 1 (got -3)"),
        (["--points", "1"], "--points must be at least 10 (got 1)"),
        (["--workers", "0"], "--workers must be at least 1 (got 0)"),
        (["--dpi", "1"], "--dpi must be at least 30 (got 1)"),
        (["--seeds", "many"], "Invalid value for '--seeds': 'many' is not a valid integer."),
        (["--out", "nowhere/demo.png"], "--out must be in a folder that exists (got nowhere/demo.png)"),
        (["--out", "demo.txt"], "--out must end in .png, .pdf, .svg (got demo.txt)"),
        (["--out", "demo"], "--out must end in .png, .pdf, .svg (got demo)"),
        (["--colour"], "No such option"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(args: list[str], sentence: str) -> None:
    ran = run(*SMALL, *args)
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith(f"Error: {sentence}")
    assert not list(Path.cwd().iterdir())


def test_a_folder_is_not_a_picture() -> None:
    Path("demo.png").mkdir()
    ran = run(*SMALL, "--out", "demo.png")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr == "Error: --out must be a file that can be written (got demo.png)\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_is_one_sentence_after_the_table() -> None:
    Path("full.png").symlink_to("/dev/full")
    ran = run(*SMALL, "--out", "full.png")
    assert ran.exit_code == 2
    assert "GP-UCB-SDF" in ran.stdout
    assert ran.stderr.splitlines()[-1].startswith("Error: --out must be a file that can be written (got full.png: ")


BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
sys.meta_path.insert(0, Blocked())
from belated.cli import main
main(sys.argv[1:])
"""


def test_without_matplotlib_the_table_is_printed_and_the_remedy_named() -> None:
    ran = python(BLOCKED, *SMALL)
    assert ran.returncode == 0
    assert "GP-UCB-SDF" in ran.stdout
    assert "The picture" not in ran.stdout
    sentence = 'No picture: the picture needs matplotlib: pip install "belated[plots]"'
    assert ran.stderr.splitlines()[-1] == sentence
    assert not list(Path.cwd().iterdir())


def test_without_matplotlib_a_picture_asked_for_is_an_error() -> None:
    ran = python(BLOCKED, *SMALL, "--json", "--out", "demo.png")
    assert ran.returncode == 2
    assert json.loads(ran.stdout)["picture"] is None
    assert ran.stderr == 'Error: the picture needs matplotlib: pip install "belated[plots]"\n'


def test_help_is_light_and_names_every_command() -> None:
    heavy = "{'rich', 'matplotlib', 'scipy.optimize', 'scipy.stats', 'concurrent.futures.process'}"
    script = f"""
import sys
from belated.cli import main
try:
    main(["--help"])
finally:
    sys.stderr.write(" ".join({heavy} & set(sys.modules)))
"""
    ran = python(script)
    assert ran.returncode == 0
    assert ran.stderr == ""
    for name, (_, words) in COMMANDS.items():
        assert re.search(rf"^ +{name} +{re.escape(words[:20])}", ran.stdout, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded(name: str) -> None:
    ran = run(name, "--help")
    assert ran.exit_code == 0
    assert f"Usage: main {name}" in ran.stdout


def test_version() -> None:
    ran = run("--version")
    assert (ran.exit_code, ran.stdout) == (0, f"belated {belated.__version__}\n")


@pytest.mark.parametrize(("args", "named"), [(["dmeo"], "dmeo"), (["--loud"], "--loud")])
def test_an_unknown_command_or_option_is_one_sentence(args: list[str], named: str) -> None:
    ran = run(*args)
    assert ran.exit_code == 2
    assert len(ran.stderr.splitlines()) == 1
    assert named in ran.stderr


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for the workers in /proc")
def test_an_interrupt_ends_everything_quietly() -> None:
    """Ctrl-C in a terminal: the signal goes to the whole process group."""
    script = "from belated.cli import main; main()"
    command = [sys.executable, "-c", script, "demo", "--workers", "2", "--rounds", "2000"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as ran:
        children = Path(f"/proc/{ran.pid}/task/{ran.pid}/children")
        until = time.monotonic() + 30
        while len(children.read_text().split()) < 3:  # two workers, and the one that minds their semaphores
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
    while any(map(lives, workers)):
        assert time.monotonic() < until, "a worker lives on"
        time.sleep(0.05)


def lives(pid: str) -> bool:
    """Whether a process runs: it is there, and more than a name that nobody has asked after."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_without_a_command_there_is_help() -> None:
    ran = run()
    assert ran.exit_code == 2
    assert "Commands:" in ran.output
    assert "demo" in ran.output
