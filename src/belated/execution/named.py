"""An executor by the name of a module and of what makes it there."""

from __future__ import annotations

import os
import sys
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module

from belated.errors import InvalidInput


def open_executor(name: str | None) -> AbstractContextManager[Executor | None]:
    """The executor that MODULE:NAME names, shut down at the end; none without a name."""
    if name is None:
        return nullcontext()
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a module beside the data, however python was started
    try:
        named = getattr(import_module(module), attribute)
        executor = named if isinstance(named, Executor) else named()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"--executor must be MODULE:NAME of an Executor, or of a function that makes one ({error})"
        ) from None
    if not isinstance(executor, Executor):
        raise InvalidInput(f"--executor must give a concurrent.futures.Executor (got {type(executor).__name__})")
    return executor
