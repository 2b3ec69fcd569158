"""Where the file of a data set lies on this machine; downloaded first when it is not here.

A file is looked for in the folder that BELATED_DATA names, then in the user's cache. What is in neither is downloaded
into the cache by pooch. No file is used unchecked.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from belated.errors import BelatedError, InvalidInput
from belated.execution.terminal import show_progress
from belated.validation import format_names, format_value
from reproduction.datasets import DATASETS, Conversion, Dataset, hash_numbers, is_intended

VARIABLE = "BELATED_DATA"
REMEDY = f"put the file into a folder and name it with {VARIABLE}"


class DataUnavailable(BelatedError, OSError):
    """A data set is not here and cannot be downloaded, or is not the one that was meant; the message says which."""


def find_dataset(name: str) -> Path:
    """Where the file of this name lies here, its content checked; downloaded first when it is not here."""
    wanted = next((s for s in DATASETS if s.name == name), None)
    if wanted is None:
        raise InvalidInput(f"name must be one of {format_names(s.name for s in DATASETS)} (got {format_value(name)})")
    given = os.environ.get(VARIABLE)
    if given:
        if not Path(given).is_dir():
            raise DataUnavailable(f"{VARIABLE} must name a folder (got {format_value(given)})")
        if (file := Path(given) / name).is_file():
            if not is_intended(wanted, file):
                raise DataUnavailable(f"{file} is not the file that was meant: its sha256 is not {wanted.sha256}")
            return file
    if not wanted.urls and wanted.converted is None:
        raise DataUnavailable(
            f"{name} is made from {wanted.source}, and there is no download of it in this form; {REMEDY}"
        )
    pooch = _import_pooch(name)
    file = Path(pooch.os_cache("belated")) / name
    if not (file.is_file() and is_intended(wanted, file)):
        file.parent.mkdir(parents=True, exist_ok=True)
        _download(pooch, wanted, file)
    return file


# Downloading ----------------------------------------------------------------------------------------------------------


def _import_pooch(name: str) -> Any:
    try:
        import pooch
    except ImportError:
        raise DataUnavailable(
            f"{name} is not in a folder that {VARIABLE} names, and downloading it needs pooch: "
            "pip install '.[reproduction]'"
        ) from None
    return pooch


def _download(pooch: Any, wanted: Dataset, file: Path) -> None:
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        ready = Path(folder) / "ready"
        if wanted.converted is None:
            _download_first(pooch, wanted, ready)
        else:
            _convert(pooch, wanted.name, wanted.converted, ready)
        os.replace(ready, file)


def _download_first(pooch: Any, wanted: Dataset, to: Path) -> None:
    """The file from the first address that gives the right one."""
    failure = DataUnavailable(f"{wanted.name} has no address; {REMEDY}")
    for url in wanted.urls:
        try:
            with _show_bytes(wanted.name) as bar:
                _fetch(pooch, wanted.name, url, to, bar)
        except DataUnavailable as error:
            failure = error
            continue
        if is_intended(wanted, to):
            return
        failure = DataUnavailable(f"what {url} gives is not {wanted.name}: its sha256 is not {wanted.sha256}; {REMEDY}")
    raise failure


def _convert(pooch: Any, name: str, converted: Conversion, to: Path) -> None:
    """The file, made of what upstream has."""
    files = []
    with show_progress(len(converted.urls), shown=True) as show:
        for i, url in enumerate(converted.urls):
            show(i, lambda: name)
            files.append(to.with_name(f"part{i}"))
            _fetch(pooch, name, url, files[-1], False)
        show(len(files), lambda: name)
    try:
        numbers = converted.read(files)
    except ValueError as error:
        raise DataUnavailable(f"what {converted.urls[0]} gives is not the table that was meant; {REMEDY}") from error
    if hash_numbers(numbers) != converted.sha256:
        raise DataUnavailable(
            f"the numbers from {converted.urls[0]} are not those of {name}: their sha256 differs; {REMEDY}"
        )
    converted.write(to, numbers)


def _fetch(pooch: Any, name: str, url: str, to: Path, bar: Any) -> None:
    try:
        pooch.HTTPDownloader(progressbar=bar, timeout=30)(url, str(to), None)
    except OSError as error:  # every error of requests is one
        if (response := getattr(error, "response", None)) is not None:
            response.close()  # an answer that was refused is still open
        raise DataUnavailable(f"{name} could not be downloaded from {url}; {REMEDY}") from error


class DownloadBar:
    """What pooch asks of a progress bar, on rich's."""

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True))
        self._task = self._progress.add_task(name, total=None)
        self.total = 0
        self._progress.start()

    def update(self, count: int) -> None:
        self._progress.update(self._task, total=self.total or None, advance=count)

    def reset(self) -> None:
        self._progress.reset(self._task)

    def close(self) -> None:
        self._progress.stop()


@contextmanager
def _show_bytes(name: str) -> Iterator[DownloadBar | bool]:
    """A bar of the bytes on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield False
        return
    bar = DownloadBar(name)
    try:
        yield bar
    finally:
        bar.close()
