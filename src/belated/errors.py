"""Every error belated raises: one root, one class per cause; the docstring is the message when none is given.

The last classes are warnings."""

import re


class BelatedError(Exception):
    """Something went wrong in belated."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (self.__doc__ or "").strip())


class InvalidInput(BelatedError, ValueError):
    """A value breaks a stated rule; the message names the rule and the value."""


class Outside(InvalidInput):
    """A query, context or outcome lies outside what the study declared."""


class Contradiction(InvalidInput):
    """Two settings of a study exclude each other; leave one of them out."""


class AlreadyTold(BelatedError, ValueError):
    """This trial was told before, with another value. Feedback is never overwritten."""


class AlreadyEnded(BelatedError, ValueError):
    """This trial has ended: an outcome or another kind of failure was recorded before."""


class KeyTaken(BelatedError, ValueError):
    """This key was used before for something else; a key belongs to one call and its retries."""


class Taken(BelatedError):
    """A ledger has this number, outcome or key already; the first one counts."""


class UnknownStudy(BelatedError, LookupError):
    """There is no such study here."""


class AlreadyExists(BelatedError, ValueError):
    """There is a study of this name with other settings."""


class Closed(BelatedError, RuntimeError):
    """This study is closed: outcomes are still accepted, queries are no longer asked."""


class Locked(Closed):
    """This study is locked: nothing is asked, told, amended or undone any more; `reopen` it, with a reason."""


class Followed(BelatedError, RuntimeError):
    """This cannot be undone: something else happened to the same trial since."""


class NothingToUndo(BelatedError, LookupError):
    """There is nothing of this person to undo."""


class UnexplainedEdits(InvalidInput):
    """Rows of a file differ from the record, and nobody said why; the lines after the first say which."""


class Unreadable(BelatedError, OSError):
    """This is not a store of belated, or one that this version cannot read."""


class Unreachable(BelatedError, ConnectionError):
    """The store cannot be reached."""


class StoreChanged(BelatedError, RuntimeError):
    """The store is no longer what this study has read: it went back in time, was moved, or is another one."""


class Deleted(BelatedError, LookupError):
    """This study was deleted."""


class NothingHeard(BelatedError, LookupError):
    """No outcome has been heard yet; tell one first."""


class UnknownTrial(BelatedError, LookupError):
    """There is no such trial in this study."""


class Exhausted(BelatedError, LookupError):
    """Every point of the space has been asked; repeats="never" leaves none. Use repeats="heard" to ask one again."""


class NotPositiveDefinite(BelatedError, ArithmeticError):
    """The kernel matrix is not positive definite even with jitter; raise lam or the noise."""


class Unavailable(BelatedError, RuntimeError):
    """This needs something that is not installed or not built; the message says what."""


class Unregistered(BelatedError, LookupError):
    """A study uses a part that has no name here; the message says where it comes from."""


class Infeasible(BelatedError):
    """This query cannot be evaluated. Raised by the function given to optimize or simulate; such ones are avoided."""


class NoWorkers(BelatedError, RuntimeError):
    """No worker is left to evaluate f; trials without an outcome stay pending: the next run evaluates them first."""


class WorkerLost(BelatedError, RuntimeError):
    """A worker ended before its job was done, perhaps for lack of memory; try again with one worker (--workers 1)."""


class NotSignedIn(BelatedError, PermissionError):
    """This server needs a token that it knows: give token=, or set BELATED_TOKEN; belated token new makes one."""


class NotAllowed(BelatedError, PermissionError):
    """This token may not do that."""


class TooLarge(InvalidInput):
    """This is more than a server takes at once."""


class TooBusy(Unreachable):
    """The server has too much to do; try again later."""

    def __init__(self, message: str = "", *, wait: float = 1.0) -> None:
        super().__init__(message)
        self.wait = wait  # seconds after which it is worth trying again


class TooOften(TooBusy):
    """This was asked too often; try again in a moment."""


class ServerFault(BelatedError, RuntimeError):
    """The server failed at this; its log says why."""


class SilenceWarning(UserWarning):
    """The study's silence does not seem to fit its delays."""


class PartWarning(UserWarning):
    """A part of the user's own failed while a query was chosen; the study fell back, as the trial's note says."""


def _list_codes() -> dict[str, type[BelatedError]]:
    found = [each for each in globals().values() if isinstance(each, type) and issubclass(each, BelatedError)]
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", each.__name__).lower(): each for each in found}


CODES = _list_codes()  # every error by its code, which a server answers with: already_told is AlreadyTold
_codes = {kind: code for code, kind in CODES.items()}


def find_code(error: BelatedError) -> str:
    """The code of an error; of a class of somebody's own, that of the nearest one that has a code."""
    return next(_codes[kind] for kind in type(error).__mro__ if kind in _codes)
