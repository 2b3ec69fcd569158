"""What computes: BLAS held to one thread, and the versions that a choice's bits depend on."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Small matrices are slower on two BLAS threads than on one, much slower on a busy machine."""
    limit: AbstractContextManager[Any] = _blas().limit(limits=1)
    return limit


@cache
def versions() -> Mapping[str, str]:
    """With the same of these, and one thread, the same events give the same query bit for bit."""
    import numpy
    import scipy

    kernels = sorted(
        {f"{lib['internal_api']} {lib['version']} {lib.get('architecture', '')}" for lib in _blas().info()}
    )
    return {"numpy": numpy.__version__, "scipy": scipy.__version__, "blas": ", ".join(kernels).strip()}
