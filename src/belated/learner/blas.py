"""BLAS on one thread, and the versions of the libraries that the bits of a choice depend on."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar

from belated.version import __version__


@cache
def _load_controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


class _Held:
    """How many threads ask for one BLAS thread. The limit is that of the whole process, so the last one lifts it."""

    lock = threading.Lock()
    count = 0
    before: ClassVar[list[tuple[Any, int]]] = []  # libraries that had more, and how many


@contextmanager
def use_one_thread() -> Iterator[None]:
    """Small matrices are slower on two BLAS threads than on one, much slower on a busy machine."""
    with _Held.lock:
        if _Held.count == 0:
            libraries = [(library, library.get_num_threads()) for library in _load_controller().lib_controllers]
            _Held.before = [(library, threads) for library, threads in libraries if threads != 1]
            for library, _ in _Held.before:
                library.set_num_threads(1)
        _Held.count += 1
    try:
        yield
    finally:
        with _Held.lock:
            _Held.count -= 1
            if _Held.count == 0:
                for library, threads in _Held.before:
                    library.set_num_threads(threads)


def forget_threads() -> None:
    """For a forked child: none of the threads that ask for one BLAS thread is in it."""
    _Held.lock = threading.Lock()
    if _Held.count:
        _Held.count = 0
        for library, threads in _Held.before:
            library.set_num_threads(threads)


@cache
def describe_versions() -> Mapping[str, str]:
    """The versions. With the same versions and one thread, the same events give the same query, bit for bit."""
    import numpy
    import scipy

    libraries = _load_controller().info()
    blas = sorted(
        {" ".join(str(lib.get(k, "")) for k in ("internal_api", "version", "architecture")) for lib in libraries}
    )
    names = {"numpy": numpy.__version__, "scipy": scipy.__version__, "blas": ", ".join(blas).strip()}
    return {"belated": __version__, **names}
