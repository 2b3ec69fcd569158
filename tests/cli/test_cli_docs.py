"""The console blocks of the docs run; docs/shell.md names every command; every command has an example in its help.

Those of the stories print what the page says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from belated.cli import COMMANDS, main
from website.stories import STORIES, find_code, find_commands, list_shown, read_story

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "shell.md").read_text(encoding="utf-8")
CONSOLES = {
    "shell.md": 26,
    "spreadsheets.md": 4,
    "reports.md": 2,
}  # pages whose blocks run, and how many commands at least
BLOCK = re.compile(r"^```(console|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VERBS = [name for name in COMMANDS if name != "demo"]


def test_continuations_belong_to_their_command() -> None:
    assert find_commands("$ a \\\n>   b\nprinted\n$ c\n") == ["a \\\n  b", "c"]


class Shell:
    """A shell that knows `export`, and runs `belated` in this process where no redirection needs a real one."""

    def __init__(self, programs: Path) -> None:
        self.said = self.printed = ""
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        self.environment.pop("BELATED_STORE", None)
        start = f"exec {sys.executable} -c \"from belated.cli import main; main(prog_name='belated')\""
        (programs / "belated").write_text(f'#!/bin/sh\n{start} "$@"\n')
        (programs / "belated").chmod(0o755)

    def run(self, command: str) -> int:
        words = shlex.split(command.replace("\\\n", " "), comments=True)
        if words[0] == "export":
            self.environment.update([words[1].split("=", 1)])
            return 0
        if words[0] == "belated" and not {">", "|", "<"} & set(words):
            ran = CliRunner().invoke(main, words[1:], env=self.environment, catch_exceptions=False)
            self.said += ran.stderr
            self.printed += ran.stdout
            return ran.exit_code
        real = subprocess.run(
            ["/bin/sh", "-c", command], env=self.environment, capture_output=True, text=True, check=False
        )
        self.said += real.stderr
        return real.returncode


@pytest.mark.parametrize("name", CONSOLES)
def test_the_console_blocks_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    folder, programs = tmp_path / "fresh", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("BELATED_STORE", raising=False)
    shell, ran = Shell(programs), 0
    for kind, block in BLOCK.findall(page):
        if kind == "toml":
            Path("space.toml").write_text(block, encoding="utf-8")
            continue
        for command in find_commands(block):
            wanted = re.search(r"# exit code (\d)", command)
            assert shell.run(command) == (int(wanted[1]) if wanted else 0), f"{command}\n{shell.said}"
            ran += 1
    assert ran >= CONSOLES[name]
    sentences = [line for line in page.splitlines() if line.startswith(("Error: ", "Warning: ", "  typos.csv:"))]
    for line in sentences:  # what the page says is refused is what is said
        assert line in shell.said.splitlines()


def says_the_same(page: str, printed: str) -> bool:
    """Whether a line begins as the page says, its numbers within a quarter: they may differ between machines."""
    number = re.compile(r"\d+(?:\.\d+)?")
    words = number.split(page)
    if number.split(printed)[: len(words) - 1] != words[:-1]:
        return False
    pairs = zip(map(float, number.findall(page)), map(float, number.findall(printed)), strict=False)
    return all(a == pytest.approx(b, rel=0.25) for a, b in pairs)


@pytest.mark.parametrize("name", [name for name in STORIES if name != "tuning"])  # which prints times
def test_a_story_prints_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = read_story(name)
    folder, programs = tmp_path / "fresh", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("BELATED_STORE", raising=False)
    subprocess.run([sys.executable, "-c", find_code(name)], check=True)
    shell = Shell(programs)
    for _, block in BLOCK.findall(page):
        for command in find_commands(block):
            assert shell.run(command) == 0, f"{command}\n{shell.said}"
    for line in list_shown(name):
        assert any(says_the_same(line.removesuffix(" ..."), each) for each in shell.printed.splitlines()), line
    assert all(path.stat().st_size > 10_000 for path in folder.glob("*.png"))
    assert list(folder.glob("*.png"))


@pytest.mark.parametrize("name", VERBS)
def test_help_has_an_example_and_the_page_names_the_command(name: str) -> None:
    ran = CliRunner().invoke(main, [name, "--help"], catch_exceptions=False)
    assert ran.exit_code == 0
    assert "Example" in ran.stdout
    assert re.search(rf"^ +(\$ )?belated {name}\b", ran.stdout, re.MULTILINE)
    assert f"belated {name}" in PAGE
