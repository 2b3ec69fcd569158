"""Backups: every study of a store, whole, in a new file; and back from there into a store, this or another one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from belated.errors import AlreadyExists, BelatedError, InvalidInput, UnknownStudy
from belated.record.ledger import open_store
from belated.record.ledger.chain import Head, Row
from belated.record.ledger.file_locks import take_mode
from belated.record.ledger.passwords import mask_password
from belated.record.ledger.shelf import Shelf, WholeStudy
from belated.record.ledger.sqlite import SQLiteStore, copy_files, make_url
from belated.record.new_file import make_new_file
from belated.validation import format_names, format_value, read_name
from belated.wording import format_count

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class BackupReport:
    """What a backup holds. The heads (position and hash of each study's last event) stand for the whole.

    >>> from belated import BackupReport
    >>> print(BackupReport(file="monday.db", studies=1, events=3, heads=("flask: head 3 9a...",)))
    flask: head 3 9a...
    wrote 1 study with 3 events to monday.db
    """

    file: str
    studies: int
    events: int
    heads: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([*self.heads, f"wrote {_count(self.studies, self.events)} to {self.file}"])


@dataclass(frozen=True, kw_only=True)
class RestoreReport:
    """What a restore has added, and in sentences what became of each study.

    >>> from belated import RestoreReport
    >>> print(RestoreReport(studies=1, events=3, sentences=("flask: restored with 3 events",)))
    flask: restored with 3 events
    added 1 study with 3 events
    """

    studies: int  # that were not there before
    events: int
    sentences: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([*self.sentences, f"added {_count(self.studies, self.events)}"])


def backup(url: str, file: str | os.PathLike[str]) -> BackupReport:
    """Write every study at a url, as it is at one moment, into a new file; others may ask and tell meanwhile.

    The file is a SQLite store by itself: it can be opened, shown and checked. Every event is verified, and what does
    not fit is named; then there is no file.

    >>> import belated
    >>> study = belated.Study.create(
    ...     "sqlite:///lab.db", "flask", space={"x": belated.Real(0, 1)}, silence="unknown", seed=0
    ... )
    >>> _ = study.tell(study.ask(), 0.5)
    >>> belated.backup("sqlite:///lab.db", "monday.db").events
    2
    >>> belated.check("sqlite:///monday.db").ok
    True
    """
    path, place, where = Path(file), open_store(url), str(mask_password(url))
    with make_new_file(path, "a backup", 0o600 if isinstance(place, SQLiteStore) else 0o666) as beside:
        try:
            if isinstance(place, SQLiteStore):
                place.copy_to(beside)
            else:
                place.use_studies(lambda shelf: _write_studies(shelf, beside, where))
        finally:
            place.close()
        with _name_file(beside, place.path if isinstance(place, SQLiteStore) else path):
            written = _use_file(beside, lambda shelf: _verify_studies(shelf, where))
        if isinstance(place, SQLiteStore):
            _take_mode(beside, place.path)
    heads = tuple(f"{name}: head {head if head.position else 0}" for name, head in written.items())
    events = sum(head.position for head in written.values())
    return BackupReport(file=str(path), studies=len(written), events=events, heads=heads)


def restore(
    file: str | os.PathLike[str], url: str, name: str | None = None, *, new_name: str | None = None
) -> RestoreReport:
    """Put the studies of a backup, or one of them, into a store, which may be new: all of them, or none.

    A study that is there already gets the events that it lacks, and keeps those that it has; one that went another way
    since the backup, or another study of the same name, is refused.

    name      the study; None: every study of the backup
    new_name  what one study is called in the store; None: what it was called

    >>> import belated
    >>> study = belated.Study.create(
    ...     "sqlite:///bench.db", "flask", space={"x": belated.Real(0, 1)}, silence="unknown", seed=0
    ... )
    >>> trial = study.ask()
    >>> _ = belated.backup("sqlite:///bench.db", "friday.db")
    >>> print(belated.restore("friday.db", "sqlite:///elsewhere.db"))
    flask: restored with 1 event
    added 1 study with 1 event
    >>> belated.Study.open("sqlite:///elsewhere.db", "flask").trial(1) == trial
    True
    """
    with _open_copy(Path(file)) as copy:
        written = _use_file(copy, lambda shelf: _verify_studies(shelf, str(file)))
        chosen = _choose_studies(list(written), str(file), name, new_name)
        place = open_store(url, create=True)

        def work(source: Shelf) -> RestoreReport:
            def put(target: Shelf) -> RestoreReport:
                report = _put_studies(target, (s for s in source.list_studies() if s.name in chosen), new_name)
                if name is None:
                    target.add_tombstones(source.list_tombstones())
                return report

            return place.use_studies(put, writing=True)

        try:
            return _use_file(copy, work)
        finally:
            place.close()


def _count(studies: int, events: int) -> str:
    return f"{format_count(studies, 'study', 'studies')} with {format_count(events, 'event')}"


# Files ----------------------------------------------------------------------------------------------------------------


def _take_mode(path: Path, like: Path) -> None:
    """Give it the mode and the group of a database: nobody else may read a copy."""
    fd = os.open(path, os.O_RDONLY)
    try:
        take_mode(fd, like.stat())
    finally:
        os.close(fd)


@contextmanager
def _open_copy(path: Path) -> Iterator[Path]:
    """A copy of a file, which is only read: opening one may change it."""
    with tempfile.TemporaryDirectory(prefix="belated-restore-") as folder:
        copy = copy_files(path.absolute(), Path(folder).resolve())
        with _name_file(copy, path):
            yield copy


@contextmanager
def _name_file(copy: Path, path: Path) -> Iterator[None]:
    """What is wrong with a copy is said of the file itself."""
    try:
        yield
    except BelatedError as error:
        raise type(error)(str(error).replace(str(copy), str(path))) from None


def _use_file(path: Path, work: Callable[[Shelf], Result], *, create: bool = False) -> Result:
    """Do some work with the studies of a file."""
    place = SQLiteStore.at(make_url(path), create=create)
    try:
        return place.use_studies(work, writing=create)
    finally:
        place.close()


def _write_studies(source: Shelf, path: Path, where: str) -> None:
    """Write every study of another store into a new file, verified: a head that is not reached would be forgotten."""

    def write(target: Shelf) -> None:
        for study in source.list_studies():
            study.verify(f"{study.name} in {where}")
            target.add_study(study.name, study.origin, study.rows)
        target.add_tombstones(source.list_tombstones())

    _use_file(path, write, create=True)


def _verify_studies(shelf: Shelf, where: str) -> dict[str, Head]:
    """The head of every study, verified from its first event on."""
    heads = {}
    for study in shelf.list_studies():  # one after the other: all of them may not fit into memory
        study.verify(f"{study.name} in {where}")
        heads[study.name] = study.head
    return heads


def _choose_studies(there: list[str], file: str, name: str | None, new_name: str | None) -> list[str]:
    """One study, or all."""
    if name is not None and name not in there:
        raise UnknownStudy(
            f"there is no study {format_value(name)} in {file}; there are {format_names(there) or 'none'}"
        )
    chosen = there if name is None else [name]
    if new_name is not None:
        new_name = read_name(new_name)
        if len(chosen) != 1:
            raise InvalidInput(f"name the study that is to be {new_name}; there are {format_names(there) or 'none'}")
    return chosen


# What becomes of a study ----------------------------------------------------------------------------------------------


def _put_studies(shelf: Shelf, kept: Iterable[WholeStudy], new_name: str | None) -> RestoreReport:
    """Add what a store does not have, and verify what it has then."""
    heads = shelf.list_heads()
    taken, known = {name for name, *_ in heads}, {each[1].identity: each for each in heads}
    sentences, studies, events = list[str](), 0, 0
    for study in kept:
        identity, name = study.origin.identity, new_name or study.name
        if identity in known:
            there = shelf.read_study(*known[identity])
            if new_name not in (None, there.name):
                raise AlreadyExists(f"study {study.name} is in the store already, as {there.name}")
            missing, sentence = _compare(study, there)
            shelf.add_events(identity, missing)
            events += len(missing)
        elif name in taken:
            raise AlreadyExists(
                f"there is another study {name} in the store, and nothing was restored; "
                "give the one of the backup another name (--as NEW, new_name=)"
            )
        else:
            read_name(name)
            shelf.add_study(name, study.origin, study.rows)
            sentence = f"{name}: restored with {format_count(len(study.rows), 'event')}"
            studies, events = studies + 1, events + len(study.rows)
        sentences.append(sentence)
        for each in shelf.list_heads():
            if each[1].identity == identity:
                shelf.read_study(*each).verify(f"{each[0]} in the store")
    return RestoreReport(studies=studies, events=events, sentences=tuple(sentences))


def _compare(study: WholeStudy, there: WholeStudy) -> tuple[Sequence[Row], str]:
    """The events that a study in the store lacks, and what is to be said about it."""
    name, had, has = there.name, len(there.rows), len(study.rows)
    both = zip(there.heads, study.heads, strict=False)
    first = next((mine.position for mine, its in both if mine != its), None)
    if first is not None:
        raise AlreadyExists(
            f"{name} in the store is not what it is in the backup from event {first} on, and nothing was restored; "
            "restore it into another store"
        )
    if had < has:
        return study.rows[had:], f"{name}: is there already; it had {had} of {has} events, and the others were added"
    since = f", and {had - has} more since the backup" if had > has else ""
    return [], f"{name}: is there already, with all {has} events{since}; it stays as it is"
