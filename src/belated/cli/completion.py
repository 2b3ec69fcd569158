"""`belated completion`: let a shell complete commands, options and the names of studies."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from belated.errors import InvalidInput

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what a shell needs to complete commands, options and the names of studies.

    \b
    Examples, each a line for the file that the shell reads when it starts:
      eval "$(belated completion bash)"          ~/.bashrc
      eval "$(belated completion zsh)"           ~/.zshrc, after compinit
      belated completion fish | source           ~/.config/fish/config.fish
    """
    found = get_completion_class(shell)
    parent = click.get_current_context().parent
    if found is None or parent is None:
        raise InvalidInput(f"there is no completion for {shell}")
    click.echo(found(parent.command, {}, "belated", "_BELATED_COMPLETE").source())
