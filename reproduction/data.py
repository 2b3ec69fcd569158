"""The data sets: where each comes from, how it is known to be the right one, and where it lies here.

A set is looked for in the folder that BELATED_DATA names, then in the user's cache; what is in neither is downloaded
into the cache by pooch. Nothing is used unchecked: a file has the sha256 that stands here, or, where upstream has the
same numbers in another form and the file was converted here, its numbers do.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from belated.errors import BelatedError, InvalidInput
from belated.execution.terminal import progress_bar
from belated.learner.arrays import Array
from belated.validation import listed, shown

VARIABLE = "BELATED_DATA"
REMEDY = f"put the file into a folder and name it with {VARIABLE}"


class NoData(BelatedError, OSError):
    """A data set is not here and cannot be downloaded, or is not the one that was meant; the message says which."""


@dataclass(frozen=True, kw_only=True)
class Converted:
    """How a file is made of what upstream has, and the sha256 of its numbers (little-endian float64, row by row)."""

    urls: tuple[str, ...]
    read: Callable[[Sequence[Path]], Array]  # the numbers of the downloaded files
    write: Callable[[Path, Array], None]  # the file with these numbers
    numbers: Callable[[Path], Array]  # the numbers of such a file
    sha256: str


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """One file."""

    name: str  # as it is called in the folder of BELATED_DATA
    what: str
    source: str
    licence: str
    sha256: str
    urls: tuple[str, ...] = ()  # where this very file is, the first that answers
    converted: Converted | None = None  # or what it is made of


# The multi-task table: 50 text files of 288 lines: accuracy, 6 hyperparameters, 22 meta-features ----------------------

TASKS = (
    *("A9A", "W8A", "abalone", "appendicitis", "australian", "automobile", "banana", "bands", "breast-cancer", "bupa"),
    *("car", "chess", "cod-rna", "coil2000", "colon-cancer", "crx", "diabetes", "ecoli", "german-numer", "haberman"),
    *("housevotes", "ijcnn1", "kr-vs-k", "led7digit", "letter", "lymphography", "magic", "monk-2", "pendigits"),
    *("phoneme", "pima", "ring", "saheart", "segment", "seismic", "shuttle", "sonar-scale", "spambase", "spectfheart"),
    *("splice", "tic-tac-toe", "titanic", "twonorm", "usps", "vehicle", "wdbc", "wine", "winequality-red"),
    *("wisconsin", "yeast"),
)
HYPERPARAMETERS, META_FEATURES = 6, 22


def _read_tasks(files: Sequence[Path]) -> Array:
    return np.stack([np.loadtxt(file, ndmin=2) for file in files])


def _write_tasks(file: Path, table: Array) -> None:
    accuracy, config, meta = _parts(table)
    if not (np.all(config == config[0]) and np.all(meta == meta[:, :1])):
        raise ValueError("the tasks must share their configurations, and a task's lines its meta-features")
    with file.open("wb") as out:
        np.savez(out, task=np.array(TASKS), config=config[0], accuracy=accuracy, meta_features=meta[:, 0])


def _parts(table: Array) -> tuple[Array, Array, Array]:
    """(50, 288, 29) -> accuracy (50, 288), configurations (50, 288, 6), meta-features (50, 288, 22)."""
    return table[..., 0], table[..., 1 : 1 + HYPERPARAMETERS], table[..., 1 + HYPERPARAMETERS :]


def _task_numbers(file: Path) -> Array:
    with np.load(file) as table:
        accuracy, config, meta = table["accuracy"], table["config"], table["meta_features"]
    tasks, configurations = accuracy.shape
    repeated = np.broadcast_to(config, (tasks, configurations, HYPERPARAMETERS))
    constant = np.broadcast_to(meta[:, None, :], (tasks, configurations, META_FEATURES))
    return np.concatenate([accuracy[..., None], repeated, constant], axis=2)


# Online LDA: lines of kappa, tau, S, perplexity and seconds, without a header, in no order ----------------------------

LDA_HEADER = "kappa,tau,S,perplexity,time_s"


def _read_lda(files: Sequence[Path]) -> Array:
    rows = np.loadtxt(files[0], delimiter=",", ndmin=2)
    return np.asarray(rows[np.lexsort(rows[:, 2::-1].T)])


def _write_lda(file: Path, rows: Array) -> None:
    lines = [LDA_HEADER, *(",".join(f"{number!r}" for number in row) for row in rows.tolist()), ""]
    with file.open("wb") as out, gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=0) as packed:
        packed.write("\n".join(lines).encode())


def _lda_numbers(file: Path) -> Array:
    return np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)


# The sets -------------------------------------------------------------------------------------------------------------

RAW = "https://raw.githubusercontent.com"
TST = f"{RAW}/wistuba/TST/84f4d976c37533b5e2c2b969d2cf0d130852d4ad/data/svm"
MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist")


def _mnist(file: str, what: str, sha256: str) -> DataSet:
    return DataSet(
        name=f"mnist/{file}",
        what=f"MNIST, {what}",
        source="LeCun, Cortes and Burges; the usual mirrors",
        licence="CC BY-SA 3.0",
        sha256=sha256,
        urls=tuple(f"{mirror}/{file}" for mirror in MIRRORS),
    )


SETS = (
    DataSet(
        name="pima_diabetes.csv",
        what="Pima diabetes: 768 patients, 8 features and the diagnosis",
        source="github.com/daizhongxiang/BO-SDF @91a5ec4, clinical_data/diabetes.csv",
        licence="Kaggle uciml/pima-indians-diabetes-database, CC0",
        sha256="698c203a14aa31941d2251175330c9199f3ccdb31597abbba2a3e35416257a72",
        urls=tuple(
            f"{RAW}/daizhongxiang/BO-SDF/{ref}/clinical_data/diabetes.csv" for ref in ("91a5ec4", "main", "master")
        ),
    ),
    DataSet(
        name="tst_svm.npz",
        what="accuracies of 288 SVM configurations on 50 classification tasks, with 22 meta-features of each task",
        source="github.com/wistuba/TST @3ce3d4b, data/svm (50 text files)",
        licence="none stated",
        sha256="c586afd12da2ace12a478d4ca4cedf46c6340bffd44f92c2bfd19045994f6a1f",
        converted=Converted(
            urls=tuple(f"{TST}/{task}" for task in TASKS),
            read=_read_tasks,
            write=_write_tasks,
            numbers=_task_numbers,
            sha256="aec336792ea3dc19359d184ab33f3fd4cdcf188a85b48163f0c0d896d71fa252",
        ),
    ),
    DataSet(
        name="svm_reference_runs.csv",
        what="the validation errors of the paper's released SVM runs: 12 series, 10 runs each",
        source="the result files of github.com/daizhongxiang/BO-SDF @91a5ec4",
        licence="none stated",
        sha256="4e403feffe7c1cbff4ee36d8a9d528724a977cd39cc15f037da4b1268b1cfadc",
    ),
    _mnist(
        "train-images-idx3-ubyte.gz",
        "60,000 images",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    _mnist(
        "train-labels-idx1-ubyte.gz",
        "their digits",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    _mnist(
        "t10k-images-idx3-ubyte.gz",
        "10,000 images to test with",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    _mnist(
        "t10k-labels-idx1-ubyte.gz",
        "their digits",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
    DataSet(
        name="lda_on_grid.csv.gz",
        what="perplexity and running time of 288 configurations of online LDA",
        source="github.com/mwhoffman/benchfunk @3828fea, lda.csv",
        licence="BSD",
        sha256="357ff5834d897ed0425dce9e51cdef663abea23af7dbe4f683dc5132fadf8080",
        converted=Converted(
            urls=(f"{RAW}/mwhoffman/benchfunk/2d91916055e10782809feff0c3db08216eb82e57/benchfunk/functions/lda.csv",),
            read=_read_lda,
            write=_write_lda,
            numbers=_lda_numbers,
            sha256="0bb5421ad5fc6279116d078601daf6f8931a9fbfe5cf3124a902ee57f64064f4",
        ),
    ),
    # Upstream has these two in forms (one JSON cache per GPU, an R workspace) that are not converted here.
    DataSet(
        name="gpu_convolution.npz",
        what="times of 4,362 configurations of a convolution kernel on 6 GPUs, with compile and benchmark times",
        source="github.com/AutoTuningAssociation/benchmark_hub @8eeb99e, cachefiles/convolution_milo",
        licence="MIT",
        sha256="23220d6146a371aebeb3ee22ed038a1ea7c85a3b8e2f8d18fbdf862cba54d235",
    ),
    DataSet(
        name="delays_dengue.csv.gz",
        what="52,987 reporting delays of dengue cases, in weeks",
        source="github.com/sarahhbellum/NobBS @3eeda94, data/denguedat.RData",
        licence="MIT",
        sha256="adb002df11cf5459cf619690b2c5f87cfb41423b7352b0d697249c6687e74e11",
    ),
)


def sets() -> tuple[DataSet, ...]:
    """Every data set: its name, what it is, its source, licence and sha256."""
    return SETS


def path(name: str) -> Path:
    """Where the file of this name lies here, its content checked; downloaded first when it is not here."""
    wanted = next((s for s in SETS if s.name == name), None)
    if wanted is None:
        raise InvalidInput(f"name must be one of {listed(s.name for s in SETS)} (got {shown(name)})")
    given = os.environ.get(VARIABLE)
    if given:
        if not Path(given).is_dir():
            raise NoData(f"{VARIABLE} must name a folder (got {shown(given)})")
        if (file := Path(given) / name).is_file():
            if not is_right(wanted, file):
                raise NoData(f"{file} is not the file that was meant: its sha256 is not {wanted.sha256}")
            return file
    if not wanted.urls and wanted.converted is None:
        raise NoData(f"{name} is made from {wanted.source}, and there is no download of it in this form; {REMEDY}")
    pooch = _pooch(name)
    file = Path(pooch.os_cache("belated")) / name
    if not (file.is_file() and is_right(wanted, file)):
        file.parent.mkdir(parents=True, exist_ok=True)
        _download(pooch, wanted, file)
    return file


def is_right(wanted: DataSet, file: Path) -> bool:
    """Whether this is the file that was meant, or one with the same numbers."""
    if _sha256(file.read_bytes()) == wanted.sha256:
        return True
    if wanted.converted is None:
        return False
    try:
        return sha256_of(wanted.converted.numbers(file)) == wanted.converted.sha256
    except (OSError, ValueError, KeyError):
        return False


def sha256_of(numbers: Array) -> str:
    """The sha256 of numbers, whatever machine they are on."""
    return _sha256(np.ascontiguousarray(numbers, dtype="<f8").tobytes())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# Downloading ----------------------------------------------------------------------------------------------------------


def _pooch(name: str) -> Any:
    try:
        import pooch
    except ImportError:
        raise NoData(
            f"{name} is not in a folder that {VARIABLE} names, and downloading it needs pooch: "
            "pip install 'belated[paper]'"
        ) from None
    return pooch


def _download(pooch: Any, wanted: DataSet, file: Path) -> None:
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        ready = Path(folder) / "ready"
        if wanted.converted is None:
            _first_of(pooch, wanted, ready)
        else:
            _convert(pooch, wanted.name, wanted.converted, ready)
        os.replace(ready, file)


def _first_of(pooch: Any, wanted: DataSet, to: Path) -> None:
    """The file from the first address that gives the right one."""
    failure = NoData(f"{wanted.name} has no address; {REMEDY}")
    for url in wanted.urls:
        try:
            with _bytes_bar(wanted.name) as bar:
                _fetch(pooch, wanted.name, url, to, bar)
        except NoData as error:
            failure = error
            continue
        if is_right(wanted, to):
            return
        failure = NoData(f"what {url} gives is not {wanted.name}: its sha256 is not {wanted.sha256}; {REMEDY}")
    raise failure


def _convert(pooch: Any, name: str, converted: Converted, to: Path) -> None:
    """The file, made of what upstream has."""
    files = []
    with progress_bar(len(converted.urls), shown=True) as show:
        for i, url in enumerate(converted.urls):
            show(i, lambda: name)
            files.append(to.with_name(f"part{i}"))
            _fetch(pooch, name, url, files[-1], False)
        show(len(files), lambda: name)
    try:
        numbers = converted.read(files)
    except ValueError as error:
        raise NoData(f"what {converted.urls[0]} gives is not the table that was meant; {REMEDY}") from error
    if sha256_of(numbers) != converted.sha256:
        raise NoData(f"the numbers from {converted.urls[0]} are not those of {name}: their sha256 differs; {REMEDY}")
    converted.write(to, numbers)


def _fetch(pooch: Any, name: str, url: str, to: Path, bar: Any) -> None:
    try:
        pooch.HTTPDownloader(progressbar=bar, timeout=30)(url, str(to), None)
    except OSError as error:  # every error of requests is one
        if (response := getattr(error, "response", None)) is not None:
            response.close()  # an answer that was refused is still open
        raise NoData(f"{name} could not be downloaded from {url}; {REMEDY}") from error


class _Bar:
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
def _bytes_bar(name: str) -> Iterator[_Bar | bool]:
    """A bar of the bytes on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield False
        return
    bar = _Bar(name)
    try:
        yield bar
    finally:
        bar.close()
