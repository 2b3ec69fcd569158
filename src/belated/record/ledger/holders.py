"""Who holds a lock that others wait for: a process that was stopped is named to them."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import NamedTuple

from belated.errors import Unreachable

MOST_STOPPED = 10.0  # seconds to wait for a process that is stopped
MOST_HELD = 300.0  # seconds to wait for a process of which nothing can be found out


def is_stopped(process: int) -> bool:
    """Whether a process of this machine was stopped, by a signal or by a debugger."""
    return _find_state(process) in ("T", "t")


def _find_state(process: int) -> str | None:
    """The letter that Linux has for what a process does; None where it cannot be found out."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[0]


def explain_stopped(process: int, lock: str) -> Unreachable:
    return Unreachable(
        f"process {process} holds the lock {lock} and is stopped; let it go on (kill -CONT {process}) or end it"
    )


def name_client() -> str:
    """What this process is called on a server."""
    return f"belated, process {os.getpid()} on {socket.gethostname()}"[:63]  # the longest name that PostgreSQL keeps


class Holder(NamedTuple):
    """A session of a server that holds a lock, in one statement of its life."""

    session: int  # the server's process
    began: float | None  # when its last statement did, by the server's clock; None: not shown to this user
    client: str  # as name_client says, or what else its user calls it
    address: str  # of its machine, if it came over the network

    @property
    def process(self) -> int | None:
        """Its id, if it is one of this machine."""
        named = re.fullmatch(r"belated, process (\d+) on (.*)", self.client)
        return int(named[1]) if named and named[2] and name_client().endswith(f" on {named[2]}") else None

    @property
    def longest(self) -> float:
        """Seconds to wait for it. One that is at work, as far as can be seen, is waited for."""
        if self.process is None or _find_state(self.process) is None:
            return MOST_HELD
        return MOST_STOPPED if is_stopped(self.process) else float("inf")

    def explain(self, lock: str) -> Unreachable:
        if self.process is not None and is_stopped(self.process):
            return explain_stopped(self.process, lock)
        who = ", ".join(filter(None, [self.client or "a client", self.address, f"session {self.session}"]))
        return Unreachable(
            f"{who} has held the lock {lock} for {MOST_HELD:.0f} s and may be stopped; let it go on, or end it"
        )
