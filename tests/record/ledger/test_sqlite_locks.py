"""Where the file locks of POSIX are missing, a study in a SQLite file is refused in one sentence; others work."""

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT_FCNTL = """
import sys
sys.modules["fcntl"] = None  # importing it fails, as on Windows
import belated
from belated import Real, Study, Unavailable
try:
    {call}
except Unavailable as refused:
    print(refused)
"""
SPACE = 'space={"x": Real(0, 1)}, silence="unknown"'


def run(call: str, folder: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_FCNTL.format(call=call)],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize(
    "call",
    [
        f'Study.create("sqlite:///lab.db", "lab", {SPACE})',
        'Study.open("sqlite:///lab.db", "lab")',
        'belated.studies("sqlite:///lab.db")',
    ],
    ids=["create", "open", "studies"],
)
def test_a_sqlite_study_says_in_one_sentence_what_is_supported(call: str, tmp_path: Path) -> None:
    (sentence,) = run(call, tmp_path).splitlines()
    assert sentence == (
        "a SQLite study needs the file locks of a POSIX system such as Linux or macOS; "
        "here a study can be kept in memory or in PostgreSQL"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_study_in_memory_works(tmp_path: Path) -> None:
    assert run(f"print(Study.create({SPACE}, seed=0).ask().number)", tmp_path) == "1\n"
