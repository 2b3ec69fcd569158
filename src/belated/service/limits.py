"""What a server takes at once, from one person, and after failed attempts to sign in."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from belated.errors import TooOften

MOST_KNOWN = 10_000  # people or addresses that are remembered


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a server takes. Every message that refuses something names its limit."""

    body: int = 2_000_000  # bytes of one call
    upload: int = 50_000_000  # bytes of a file to import, or of events that a client worked out
    rows: int = 10_000  # of add_many, trials of fail, points of posterior, events
    batch: int = 1_000  # queries of one ask
    page: int = 1_000  # trials or events in one answer
    waiting: int = 64  # asks of one study that wait
    longest_wait: float = 8.0  # seconds that an ask may wait behind others: clients give up after 10
    rate: float = 2000.0  # calls of one person in a second, over some seconds
    streams: int = 500  # pages and others that follow studies


class Rates:
    """How many calls each person has made, as buckets that fill again; TooOften where one is empty."""

    def __init__(self, rate: float, seconds: float = 4.0) -> None:
        self._rate, self._most = rate, rate * seconds
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # left, and when that was so
        self._lock = threading.Lock()

    def take(self, who: str) -> None:
        now = time.monotonic()
        with self._lock:
            left, when = self._buckets.pop(who, (self._most, now))
            left = min(self._most, left + (now - when) * self._rate) - 1.0
            self._buckets[who] = (max(left, -1.0), now)
            while len(self._buckets) > MOST_KNOWN:
                self._buckets.popitem(last=False)
        if left < 0.0:
            raise TooOften(f"a token may make {self._rate:g} calls in a second; try again in a moment")


class Slowdown:
    """Failed attempts by address: after five, each has to wait twice as long as the one before it."""

    def __init__(self, free: int = 5, longest: float = 60.0) -> None:
        self._free, self._longest = free, longest
        self._failed: OrderedDict[str, tuple[int, float]] = OrderedDict()  # how often, and the last time
        self._lock = threading.Lock()

    def check(self, address: str) -> None:
        """Refuse an attempt that comes too soon after failed ones."""
        with self._lock:
            count, last = self._failed.get(address, (0, 0.0))
        wait = min(self._longest, 0.5 * 2.0 ** min(count - self._free, 20)) if count >= self._free else 0.0
        left = last + wait - time.monotonic()
        if left > 0:
            raise TooOften(f"too many attempts failed; try again in {math.ceil(left)} s", wait=left)

    def note_failure(self, address: str) -> None:
        with self._lock:
            count, last = self._failed.pop(address, (0, 0.0))
            if time.monotonic() - last > 10 * self._longest:
                count = 0
            self._failed[address] = (count + 1, time.monotonic())
            while len(self._failed) > MOST_KNOWN:
                self._failed.popitem(last=False)

    def forget(self, address: str) -> None:
        with self._lock:
            self._failed.pop(address, None)
