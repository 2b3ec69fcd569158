"""Run a server until it is told to stop: what is under way is finished, streams are ended, at most 10 seconds."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from belated.errors import Unreachable
from belated.record.signing import PERSON
from belated.service.core import Service

GRACE = 8  # seconds for what is under way; with what follows, a server has ended after 10


class StoppingServer(uvicorn.Server):
    """A server that ends its streams as soon as it is told to stop: they would never end by themselves."""

    def __init__(self, config: uvicorn.Config, service: Service, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._service, self._announce = service, started

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._service.streams.stop()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._announce()


def listen(host: str, port: int) -> socket.socket:
    """The socket to listen on; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(
        family, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # asyncio sends at once where it is TCP by name
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except (OSError, OverflowError) as error:
        sock.close()
        reason = getattr(error, "strerror", None) or error
        raise Unreachable(f"{host}:{port} cannot be listened on ({reason})") from None
    return sock


def serve(app: FastAPI, sock: socket.socket, *, proxies: str, started: Callable[[], None]) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    os.environ.pop(PERSON, None)  # who did it is whose token it is, not who started the server
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=75,
    )
    StoppingServer(config, app.state.service, started).run(sockets=[sock])
