"""`belated completion`: commands, options and the names of studies are completed, in real shells where they are."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.shell import check_refused, invoke

pytestmark = pytest.mark.usefixtures("lab")

# zsh and fish are programs that may be missing: `make test-faults` needs them, as it needs PostgreSQL.
SHELLS = ("bash", *(pytest.param(shell, marks=pytest.mark.faults) for shell in ("zsh", "fish")))

# What each shell offers after some words, a line each.
BASH = """eval "$(belated completion bash)"
offer() {
    COMPREPLY=(); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _belated_completion belated; echo "${COMPREPLY[@]}"
}
"""
ZSH = """compdef() { :; }; _describe() { offered+=(${(P)3}); }; compadd() { offered+=(${(P)5}); }
eval "$(belated completion zsh)"
offer() { offered=(); words=("$@"); CURRENT=$#; _belated_completion; print -r -- ${offered%%:*}; }
"""
FISH = """belated completion fish | source
function offer; echo (complete -C "$argv" | string split -f 1 \\t); end
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def find_shell(shell: str) -> str:
    found = shutil.which(shell)
    if found is None and os.environ.get("CI"):
        pytest.fail(f"CI must complete in every shell: {shell} is not installed")
    if found is None:
        pytest.skip(f"{shell} is not installed")
    return found


def make_path() -> str:
    """A PATH on which `belated` is the one of this test."""
    program = Path("bin") / "belated"
    program.parent.mkdir(exist_ok=True)
    start = "from belated.cli import main; main(prog_name='belated')"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{start}" "$@"\n')
    program.chmod(0o755)
    return f"{program.parent.resolve()}{os.pathsep}{os.environ['PATH']}"


def complete(shell: str, *typed: list[str]) -> list[list[str]]:
    """What a shell offers after each of these words."""
    lines = [" ".join(["offer", *(word or '""' for word in words)]) for words in typed]
    script = SCRIPTS[shell] + "\n".join(lines)
    ran = subprocess.run(
        [find_shell(shell), "-c", script],
        env={**os.environ, "PATH": make_path()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stderr == ""
    return [line.split() for line in ran.stdout.split("\n")[: len(typed)]]


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_options_and_names_are_completed(shell: str) -> None:
    commands, names, options, after = complete(
        shell,
        ["belated", "rec"],
        ["belated", "show", "l"],
        ["belated", "show", "--pen"],
        ["belated", "tell", "lab", ""],
    )
    assert commands == ["recommend"]
    assert names == ["lab"]
    assert "--pending" in options
    assert "lab" not in after


@pytest.mark.faults
def test_the_tab_key_completes_in_zsh() -> None:
    """As somebody types it: zsh with its own completion, on a terminal."""
    terminal, theirs = pty.openpty()
    zsh = subprocess.Popen(
        [find_shell("zsh"), "-f", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "PATH": make_path(), "TERM": "dumb"},
    )
    os.close(theirs)
    try:
        start = 'autoload -Uz compinit; compinit -u -D; eval "$(belated completion zsh)"; echo rea""dy\n'
        os.write(terminal, start.encode())
        read_until(terminal, "ready")
        os.write(terminal, b"belated recom\t")
        read_until(terminal, "belated recommend")
    finally:
        zsh.kill()
        zsh.wait()
        os.close(terminal)


def read_until(terminal: int, words: str, patience: float = 60.0) -> None:
    """Read what a terminal shows until these words are there."""
    shown, end = "", time.monotonic() + patience
    while words not in shown:
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 1.0)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace")


def test_every_shell_gets_a_script_and_others_are_refused() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_BELATED_COMPLETE" in invoke("completion", shell).stdout
    check_refused(["completion", "csh"], "'csh' is not one of")


def test_a_store_that_cannot_be_read_offers_no_names() -> None:
    Path("belated.db").write_text("no store")
    assert complete("bash", ["belated", "show", "l"]) == [[]]
