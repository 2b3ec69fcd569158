"""The data sets: what each is, where it comes from, its licence and its sha256.

A file is the right one if it has the sha256 that stands here. Two files are made here from the form that upstream has:
of those the numbers must have the right sha256.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from belated.learner.arrays import Array


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """How a file is made of what upstream has, and the sha256 of its numbers (little-endian float64, row by row)."""

    urls: tuple[str, ...]
    read: Callable[[Sequence[Path]], Array]  # the numbers of the downloaded files
    write: Callable[[Path, Array], None]  # the file with these numbers
    numbers: Callable[[Path], Array]  # the numbers of such a file
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One file."""

    name: str  # as it is called in the folder of BELATED_DATA
    what: str
    source: str
    licence: str
    sha256: str
    urls: tuple[str, ...] = ()  # where this very file is, the first that answers
    converted: Conversion | None = None  # or what it is made of


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
    accuracy, config, meta = _split_tasks(table)
    if not (np.all(config == config[0]) and np.all(meta == meta[:, :1])):
        raise ValueError("the tasks must share their configurations, and a task's lines its meta-features")
    with file.open("wb") as out:
        np.savez(out, task=np.array(TASKS), config=config[0], accuracy=accuracy, meta_features=meta[:, 0])


def _split_tasks(table: Array) -> tuple[Array, Array, Array]:
    """(50, 288, 29) -> accuracy (50, 288), configurations (50, 288, 6), meta-features (50, 288, 22)."""
    return table[..., 0], table[..., 1 : 1 + HYPERPARAMETERS], table[..., 1 + HYPERPARAMETERS :]


def _read_task_numbers(file: Path) -> Array:
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


def _read_lda_numbers(file: Path) -> Array:
    return np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)


# The sets -------------------------------------------------------------------------------------------------------------

RAW = "https://raw.githubusercontent.com"
TST = f"{RAW}/wistuba/TST/84f4d976c37533b5e2c2b969d2cf0d130852d4ad/data/svm"
MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist")


def _describe_mnist(file: str, what: str, sha256: str) -> Dataset:
    return Dataset(
        name=f"mnist/{file}",
        what=f"MNIST, {what}",
        source="LeCun, Cortes and Burges; the usual mirrors",
        licence="CC BY-SA 3.0",
        sha256=sha256,
        urls=tuple(f"{mirror}/{file}" for mirror in MIRRORS),
    )


DATASETS = (
    Dataset(
        name="pima_diabetes.csv",
        what="Pima diabetes: 768 patients, 8 features and the diagnosis",
        source="github.com/daizhongxiang/BO-SDF @91a5ec4, clinical_data/diabetes.csv",
        licence="Kaggle uciml/pima-indians-diabetes-database, CC0",
        sha256="698c203a14aa31941d2251175330c9199f3ccdb31597abbba2a3e35416257a72",
        urls=tuple(
            f"{RAW}/daizhongxiang/BO-SDF/{ref}/clinical_data/diabetes.csv" for ref in ("91a5ec4", "main", "master")
        ),
    ),
    Dataset(
        name="tst_svm.npz",
        what="accuracies of 288 SVM configurations on 50 classification tasks, with 22 meta-features of each task",
        source="github.com/wistuba/TST @3ce3d4b, data/svm (50 text files)",
        licence="none stated",
        sha256="c586afd12da2ace12a478d4ca4cedf46c6340bffd44f92c2bfd19045994f6a1f",
        converted=Conversion(
            urls=tuple(f"{TST}/{task}" for task in TASKS),
            read=_read_tasks,
            write=_write_tasks,
            numbers=_read_task_numbers,
            sha256="aec336792ea3dc19359d184ab33f3fd4cdcf188a85b48163f0c0d896d71fa252",
        ),
    ),
    Dataset(
        name="svm_reference_runs.csv",
        what="the validation errors of the paper's released SVM runs: 12 series, 10 runs each",
        source="the result files of github.com/daizhongxiang/BO-SDF @91a5ec4",
        licence="none stated",
        sha256="4e403feffe7c1cbff4ee36d8a9d528724a977cd39cc15f037da4b1268b1cfadc",
    ),
    Dataset(
        name="svm_reference_queries.csv.gz",
        what="every query of these runs, its accuracy, and the delays of the initial ones",
        source="the result files of github.com/daizhongxiang/BO-SDF @91a5ec4",
        licence="none stated",
        sha256="c7c77f86c94aaf931f9653fd850a51eb1bd4b08f3ac250a98a34c235dcda5437",
    ),
    _describe_mnist(
        "train-images-idx3-ubyte.gz",
        "60,000 images",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    _describe_mnist(
        "train-labels-idx1-ubyte.gz",
        "their digits",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    _describe_mnist(
        "t10k-images-idx3-ubyte.gz",
        "10,000 images to test with",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    _describe_mnist(
        "t10k-labels-idx1-ubyte.gz",
        "their digits",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
    Dataset(
        name="lda_on_grid.csv.gz",
        what="perplexity and running time of 288 configurations of online LDA",
        source="github.com/mwhoffman/benchfunk @3828fea, lda.csv",
        licence="BSD",
        sha256="357ff5834d897ed0425dce9e51cdef663abea23af7dbe4f683dc5132fadf8080",
        converted=Conversion(
            urls=(f"{RAW}/mwhoffman/benchfunk/2d91916055e10782809feff0c3db08216eb82e57/benchfunk/functions/lda.csv",),
            read=_read_lda,
            write=_write_lda,
            numbers=_read_lda_numbers,
            sha256="0bb5421ad5fc6279116d078601daf6f8931a9fbfe5cf3124a902ee57f64064f4",
        ),
    ),
    # Upstream has these two in forms (one JSON cache per GPU, an R workspace) that are not converted here.
    Dataset(
        name="gpu_convolution.npz",
        what="times of 4,362 configurations of a convolution kernel on 6 GPUs, with compile and benchmark times",
        source="github.com/AutoTuningAssociation/benchmark_hub @8eeb99e, cachefiles/convolution_milo",
        licence="MIT",
        sha256="23220d6146a371aebeb3ee22ed038a1ea7c85a3b8e2f8d18fbdf862cba54d235",
    ),
    Dataset(
        name="delays_dengue.csv.gz",
        what="52,987 reporting delays of dengue cases, in weeks",
        source="github.com/sarahhbellum/NobBS @3eeda94, data/denguedat.RData",
        licence="MIT",
        sha256="adb002df11cf5459cf619690b2c5f87cfb41423b7352b0d697249c6687e74e11",
    ),
)


# Checks ---------------------------------------------------------------------------------------------------------------


def is_intended(wanted: Dataset, file: Path) -> bool:
    """Whether this is the file that was meant, or one with the same numbers."""
    if _hash_bytes(file.read_bytes()) == wanted.sha256:
        return True
    if wanted.converted is None:
        return False
    try:
        return hash_numbers(wanted.converted.numbers(file)) == wanted.converted.sha256
    except (OSError, ValueError, KeyError):
        return False


def hash_numbers(numbers: Array) -> str:
    """The sha256 of numbers, whatever machine they are on."""
    return _hash_bytes(np.ascontiguousarray(numbers, dtype="<f8").tobytes())


def _hash_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
