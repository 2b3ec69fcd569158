"""The shell: `belated COMMAND`.

A command's module is imported when the command is used, so that `belated --help` stays fast. rich and matplotlib are
imported by the functions that need them. Bad input ends with one sentence on stderr and exit code 2. The commands print
the warnings of `SilenceWarning` themselves.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword
from typing import Any

import click

import belated
from belated.errors import BelatedError, SilenceWarning

# name -> (the module of the click command, what `belated --help` says of it)
COMMANDS = {
    "new": ("belated.cli.new", "Make a study."),
    "ask": ("belated.cli.ask", "Ask what to try next."),
    "tell": ("belated.cli.tell", "Tell the outcome of a trial, or of many."),
    "add": ("belated.cli.add", "Add a query that was tried before or elsewhere."),
    "fail": ("belated.cli.fail", "End trials without an outcome: lost, infeasible or withdrawn."),
    "amend": ("belated.cli.amend", "Correct what was recorded wrongly, of a trial or of the study."),
    "undo": ("belated.cli.undo", "Take back what you did last."),
    "log": ("belated.cli.log", "Say what happened, who did it, when and why."),
    "show": ("belated.cli.show", "Show every trial: pending, heard, late, expired, failed."),
    "best": ("belated.cli.best", "Show the best query so far: its outcome, or its rate of conversions."),
    "recommend": ("belated.cli.recommend", "Show the query that the study believes to be best."),
    "posterior": ("belated.cli.posterior", "Show what the study believes at a query: mean, spread and interval."),
    "outlook": ("belated.cli.outlook", "Say what more queries are likely to bring: when to stop."),
    "delays": ("belated.cli.delays", "Say how long outcomes take, how many still come, and what delays depend on."),
    "advise": ("belated.cli.advise", "Say how long to wait for an outcome, what that costs, and why."),
    "compare": ("belated.cli.compare", "Say which settings would have worked best for a study."),
    "plot": ("belated.cli.plot", "Draw a picture: outcomes over time, the delays, the belief."),
    "report": (
        "belated.cli.report",
        "Write a page for those who were not there: the question, the answer, the record.",
    ),
    "export": ("belated.cli.export", "Write every trial as CSV, JSON lines or a workbook."),
    "import": ("belated.cli.import_", "Add trials from CSV, a workbook or JSON lines."),
    "refit": ("belated.cli.refit", "Fit the hyperparameters ahead of time, once or every hour."),
    "events": ("belated.cli.events", "List everything that happened to a study, as JSON lines."),
    "replay": ("belated.cli.replay", "Compute choices again from what they knew, and compare."),
    "check": ("belated.cli.check", "Check the record of a study."),
    "backup": ("belated.cli.backup", "Write every study of a store, whole, into a new file."),
    "restore": ("belated.cli.restore", "Put the studies of a backup into a store."),
    "close": ("belated.cli.close", "Close a study: ask no more; or lock it."),
    "reopen": ("belated.cli.reopen", "Go on with a closed study."),
    "rename": ("belated.cli.rename", "Give a study another name."),
    "delete": ("belated.cli.delete", "Delete a study, after asking for its name."),
    "serve": ("belated.cli.serve", "Serve the studies of a store over HTTP, with pages."),
    "token": ("belated.cli.token", "Make, list and revoke the tokens of a server's users."),
    "completion": ("belated.cli.completion", "Let bash, zsh or fish complete commands and the names of studies."),
    "demo": ("belated.cli.demo", "Compare the paper's six algorithms and the default: a table and a picture."),
}


CLOSED_PIPE = 128 + 13  # as of a program that SIGPIPE ended
OWN_FAULT = 70  # EX_SOFTWARE of sysexits.h


class Refusal(click.ClickException):
    """Bad input, in one sentence."""

    exit_code = 2


@contextmanager
def refuse_errors() -> Iterator[None]:
    """Turn errors of belated, of click's parser and of the system into a Refusal, and Ctrl-C into exit code 130.

    Exit code 1 is for `belated check` and `belated replay` alone, so an error in belated itself has another one."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        raise Refusal(error.format_message()) from error
    except BelatedError as error:
        raise Refusal(str(error)) from error
    except (KeyboardInterrupt, click.Abort):
        click.echo("Stopped.", err=True)
        raise click.exceptions.Exit(130) from None
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still to be flushed
        raise click.exceptions.Exit(CLOSED_PIPE) from None
    except MemoryError as error:
        raise Refusal("there is not enough memory for this") from error
    except OSError as error:
        raise Refusal(f"{error.filename or 'the output'} cannot be used ({error.strerror or error})") from error
    except (click.exceptions.Exit, click.ClickException):
        raise
    except Exception:
        traceback.print_exc()
        raise click.exceptions.Exit(OWN_FAULT) from None


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        attribute = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name  # import
        command: click.Command = getattr(import_module(COMMANDS[cmd_name][0]), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            close = get_close_matches(args[0], COMMANDS, 1)
            raise click.UsageError(
                f"there is no command {args[0]!r}; " + (f"did you mean {close[0]}?" if close else "see belated --help")
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])

    def main(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that cannot print a letter shows its number
        return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with refuse_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with refuse_errors(), warnings.catch_warnings(action="ignore", category=SilenceWarning):
            return super().invoke(ctx)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(belated.__version__, prog_name="belated", message="%(prog)s %(version)s")
def main() -> None:
    """Bayesian optimisation for results that come back late."""
