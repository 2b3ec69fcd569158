"""A TCP proxy on loopback that cuts a connection at a word: unheard, answered in vain, or heard late."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cut:
    """A connection is cut off when its client says this word."""

    word: bytes
    heard: bool = True  # the server gets the word: only its answer is lost
    late: float = 0.0  # and gets it this many seconds after the client was cut off


@dataclass
class Proxy:
    """Between clients and one port on loopback."""

    server: int  # its port
    listener: socket.socket
    cuts: list[Cut] = field(default_factory=list)  # still to come, in order
    threads: list[threading.Thread] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def accept(self) -> None:
        with suppress(OSError):  # closed at the end
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.server))
                doomed = threading.Event()
                self._start(self._forth, client, server, doomed)
                self._start(self._back, client, server, doomed)

    def _start(self, target: object, *words: object) -> None:
        self.threads.append(threading.Thread(target=target, args=words, daemon=True))  # type: ignore[arg-type]
        self.threads[-1].start()

    def _forth(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        with suppress(OSError):
            while said := client.recv(65536):
                if self.cuts and self.cuts[0].word in said:
                    cut = self.cuts.pop(0)
                    if not cut.heard:
                        break
                    doomed.set()
                    if cut.late:
                        hang_up(client)
                        time.sleep(cut.late)
                server.sendall(said)
        if not doomed.is_set():
            hang_up(client, server)

    def _back(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        with suppress(OSError):
            while said := server.recv(65536):
                if doomed.is_set():
                    break
                client.sendall(said)
        hang_up(client, server)


def hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextmanager
def proxying(server: int) -> Iterator[Proxy]:
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = Proxy(server, listener)
    accepting = threading.Thread(target=proxy.accept, daemon=True)
    accepting.start()
    try:
        yield proxy
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join(5)
