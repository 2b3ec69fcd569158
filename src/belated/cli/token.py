"""`belated token`: who may do what on a server."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from belated.cli._common import STORE, json_option, print_result, warn_of_password
from belated.errors import InvalidInput, UnknownStudy
from belated.patience import parse_duration
from belated.record.ledger import Store, open_store
from belated.record.log import format_moment
from belated.service.tokens import SCOPES, TokenRow, TokenTable
from belated.validation import format_names, format_value
from belated.wording import format_count, format_table

store_option = click.option(
    "--store", "url", envvar="BELATED_STORE", default=STORE, metavar="URL", callback=warn_of_password,
    help=f"The store that the server serves; or set BELATED_STORE.  [default: {STORE}]",
)  # fmt: skip


@click.group()
def token() -> None:
    """Make, list and revoke the tokens of a server's users. A token is shown once, and kept as a hash.

    \b
    read    look at everything
    tell    and tell outcomes, fail and correct trials
    ask     and ask, add and import
    own     and create, close, rename and delete

    \b
    Examples:
      $ belated token new anna --study catalyst --scope tell --expires 90d
      $ belated token list
      $ belated token revoke anna
    """


@token.command()
@click.argument("name")
@click.option("--study", metavar="STUDY", help="The only study that it is for.  [default: all]")
@click.option("--scope", type=click.Choice(SCOPES), default="read", show_default=True, help="What it may do.")
@click.option("--expires", metavar="TIME", help="After how long it ends: 90d, 12h.  [default: never]")
@store_option
@json_option
def new(name: str, study: str | None, scope: Any, expires: str | None, url: str, in_json: bool) -> None:
    """Make a token for NAME, who signs everything that is done with it."""
    store = open_local(url)
    identity = None if study is None else find_identity(store, study)
    lasts = None if expires is None else parse_duration(expires, "--expires")
    text, row = TokenTable(store).make(name, scope, study=identity, lasts=lasts)
    where = "every study" if study is None else study
    print_result(
        {"token": text, **describe(row, store)},
        in_json,
        lambda: f"A token for {row.name}, who may {scope} in {where}. It is shown this once:\n{text}",
    )


@token.command("list")
@store_option
@json_option
def list_(url: str, in_json: bool) -> None:
    """List the tokens that have not expired."""
    store = open_local(url)
    rows = [describe(row, store) for row in TokenTable(store).list_tokens()]

    def show() -> str:
        if not rows:
            return "No tokens; belated token new makes one"
        titles = ["name", "id", "scope", "study", "made", "expires", "used"]
        cells = [
            [row["name"], row["id"], row["scope"], row["study"] or "all"]
            + [
                "never" if row[when] is None else format_moment(row[when])
                for when in ("made_at", "expires_at", "used_at")
            ]
            for row in rows
        ]
        return format_table(titles, cells)

    print_result(rows, in_json, show)


@token.command()
@click.argument("name")
@store_option
@json_option
def revoke(name: str, url: str, in_json: bool) -> None:
    """End the tokens of NAME, or the one of this id. Servers notice within five seconds."""
    count = TokenTable(open_local(url)).revoke(name)
    print_result({"revoked": count}, in_json, lambda: f"Revoked {format_count(count, 'token')} of {name}")


def open_local(url: str) -> Store:
    if url.startswith(("http://", "https://")):
        raise InvalidInput("tokens are made where the server's store is, not over HTTP; name that with --store")
    return open_store(url, create=True)


def find_identity(store: Store, study: str) -> str:
    names = store.names()
    if study not in names:
        raise UnknownStudy(f"there is no study {format_value(study)}; there are {format_names(names) or 'none'}")
    return store.find_origin(study).identity


def describe(row: TokenRow, store: Store) -> dict[str, Any]:
    """A token for people, without its hash; its study by name."""
    names = {store.find_origin(name).identity: name for name in store.names()} if row.study else {}
    plain = {name: each for name, each in asdict(row).items() if name not in ("hash", "kind", "parent")}
    return {**plain, "study": names.get(row.study or "", row.study)}
