"""`belated completion`: commands, options and the names of studies are completed, in real shells where they are."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import check_refused, invoke

pytestmark = pytest.mark.usefixtures("lab")

# What each shell offers after some words.
BASH = 'eval "$(belated completion bash)"; COMP_WORDS=({typed}); COMP_CWORD={at}; _belated_completion belated; ' + (
    'printf "%s\\n" "${{COMPREPLY[@]}}"'
)
ZSH = (
    "compdef() {{ :; }}; _describe() {{ print -l ${{(P)3}}; }}; compadd() {{ print -l ${{(P)5}}; }}; "
    'eval "$(belated completion zsh)"; words=({typed}); CURRENT=$(({at} + 1)); _belated_completion'
)
FISH = 'belated completion fish | source; complete -C "{line}"'


def complete(shell: str, *typed: str) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program = Path("bin") / "belated"
    program.parent.mkdir(exist_ok=True)
    start = "from belated.cli import main; main(prog_name='belated')"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{start}" "$@"\n')
    program.chmod(0o755)
    script = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell]
    quoted = " ".join(word or '""' for word in typed)
    script = script.format(typed=quoted, at=len(typed) - 1, line=" ".join(typed))
    path = f"{program.parent.resolve()}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        [shell, "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    return [line.split("\t")[0].split(":")[0] for line in ran.stdout.split("\n") if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_options_and_names_are_completed(shell: str) -> None:
    assert complete(shell, "belated", "rec") == ["recommend"]
    assert complete(shell, "belated", "show", "l") == ["lab"]
    assert "--pending" in complete(shell, "belated", "show", "--pen")
    assert "lab" not in complete(shell, "belated", "tell", "lab", "")


def test_every_shell_gets_a_script_and_others_are_refused() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_BELATED_COMPLETE" in invoke("completion", shell).stdout
    check_refused(["completion", "csh"], "'csh' is not one of")


def test_a_store_that_cannot_be_read_offers_no_names() -> None:
    Path("belated.db").write_text("no store")
    assert complete("bash", "belated", "show", "l") == []
