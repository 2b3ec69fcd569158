"""A TCP proxy on loopback that cuts a connection at a word: unheard, answered in vain, or heard late."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Proxy:
    """Between clients and one port on loopback."""

    server: int  # its port
    listener: socket.socket
    word: bytes = b""  # what to cut at; empty: nothing
    times: int = 0  # how often, still
    heard: bool = True  # whether the server gets the word
    late: float = 0.0  # seconds after the client was cut off that it gets it
    cut: int = 0  # how often it was cut so far
    threads: list[threading.Thread] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def swallow(self, word: bytes, times: int = 1, *, heard: bool = True, late: float = 0.0) -> None:
        """Cut the next connections that say this word; when it is heard, only its answer is lost."""
        self.word, self.times, self.heard, self.late, self.cut = word, times, heard, late, 0

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
                if self.times > 0 and self.word in said:
                    self.times, self.cut = self.times - 1, self.cut + 1
                    doomed.set()
                    if not self.heard:
                        break
                    if self.late:
                        hang_up(client)
                        time.sleep(self.late)
                server.sendall(said)
        hang_up(client, server) if not (doomed.is_set() and self.heard) else None

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
