"""`belated serve`: one address for a team."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import click

from belated.cli._common import STORE, find_user, print_warning, require_at_least, warn_of_password
from belated.errors import InvalidInput, Unavailable

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - listened on, and nobody's own address


@click.command()
@click.option(
    "--store", "url", envvar="BELATED_STORE", default=STORE, metavar="URL", callback=warn_of_password,
    help=f"Where the studies are: a SQLite file or PostgreSQL; or set BELATED_STORE.  [default: {STORE}]",
)  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8000, show_default=True, type=int, help="The port; 0: any that is free.")
@click.option("--workers", default=2, show_default=True, type=int, help="How many processes choose.")
@click.option("--open", "open_to_all", is_flag=True, help="Ask for no token; on this machine only (127.0.0.1).")
@click.option("--behind", "proxies", default="", metavar="ADDRESS",
              help="The IP address of the proxy whose X-Forwarded headers are believed: 127.0.0.1.")  # fmt: skip
def serve(url: str, host: str, port: int, workers: int, open_to_all: bool, proxies: str) -> None:
    """Serve the studies of a store over HTTP: for people's browsers, and for Study.open("http://...").

    It prints an address, and a link to sign in with, which works once, within five minutes. Others get a token of
    their own: belated token. TLS is a proxy's: see docs/serving.md. Stop it with Ctrl-C or SIGTERM.

    \b
    Examples:
      $ belated serve
      $ belated serve --store postgresql://user@host/database --host 0.0.0.0 --behind 10.0.0.7
    """
    require_at_least("--workers", workers, 1)
    if not 0 <= port <= 65535:
        raise InvalidInput(f"--port must be 0 to 65535 (got {port})")
    require_addresses(proxies)
    if open_to_all and host not in LOOPBACK:
        raise InvalidInput(f"--open is for this machine only; leave --host out (got {host})")
    if url.startswith(("http://", "https://")):
        raise InvalidInput("a server serves a store: a SQLite file or PostgreSQL")
    if host not in LOOPBACK and not proxies:
        print_warning("without TLS tokens travel unencrypted; let a proxy do that, and name its address with --behind")
    run_server(url, host, port, workers, open_to_all, proxies)


def require_addresses(proxies: str) -> None:
    """Refuse a proxy by name: who calls is known by number alone, so its headers would never be believed."""
    for each in filter(None, map(str.strip, proxies.split(","))):
        try:
            ip_network(each, strict=False)
        except ValueError:
            raise InvalidInput(f"--behind must be an IP address such as 127.0.0.1, or several (got {each})") from None


def write_address(host: str, port: int) -> str:
    """The address of a server."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_server(url: str, host: str, port: int, workers: int, open_to_all: bool, proxies: str) -> None:
    try:
        from belated.service.app import make_app
        from belated.service.core import Service
        from belated.service.run import listen
        from belated.service.run import serve as run
    except ModuleNotFoundError as error:
        raise Unavailable(f'belated serve needs {error.name}: pip install "belated[service]"') from None
    from belated.service.sign_in import make_code

    sock = listen(host, port)
    try:
        service = Service(url, workers=workers, open_to_all=open_to_all)
    except BaseException:
        sock.close()
        raise
    app: Any = make_app(service)
    name = find_user() or "owner"

    def announce() -> None:
        port = sock.getsockname()[1]
        click.echo(f"Serving {write_address(host, port)}")
        if not open_to_all:
            link = f"{write_address(EVERYWHERE.get(host, host), port)}/sign-in#{make_code(service.access, name)}"
            click.echo(f"Sign in, once, within five minutes: {link}")

    run(app, sock, proxies=proxies, started=announce)
