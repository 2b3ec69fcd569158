"""A data set is found, or downloaded once and checked; what fails is said in one sentence."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated
from reproduction import download
from reproduction.datasets import DATASETS, TASKS, Dataset
from reproduction.download import DataUnavailable, find_dataset
from tests.reproduction.needs_data import needs_data

pooch = pytest.importorskip("pooch")

ORIGINAL = Path(os.environ.get("BELATED_DATA", "."))  # before a test takes the variable away
CONTENT = b"kappa,tau\n1,2\n"
SET = Dataset(
    name="folder/small.csv",
    what="two numbers",
    source="nowhere",
    licence="none",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
)


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    """A web server on this machine: its address, and the paths that were asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            content = files.get(self.path)
            self.send_response(200 if content is not None else 404)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no BELATED_DATA."""
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.delenv("BELATED_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "cache" / "belated"


def set_datasets(monkeypatch: pytest.MonkeyPatch, *sets: Dataset) -> None:
    monkeypatch.setattr(download, "DATASETS", sets)


@pytest.mark.parametrize("name", [pytest.param(s.name, marks=needs_data(s.name)) for s in DATASETS])
def test_every_set_is_found_and_is_the_right_one(name: str) -> None:
    assert find_dataset(name) == ORIGINAL / name


def test_the_folder_is_looked_in_first_and_needs_no_pooch(tmp_path: Path) -> None:
    """In a fresh interpreter: nothing is imported that could download."""
    (tmp_path / "folder").mkdir()
    (tmp_path / SET.name).write_bytes(CONTENT)
    code = f"""
import sys
from reproduction import datasets, download
download.DATASETS = (datasets.Dataset(name={SET.name!r}, what="", source="", licence="", sha256={SET.sha256!r},
                                      urls=("http://127.0.0.1:9/none",)),)
print(download.find_dataset({SET.name!r}))
sys.exit(any(name in sys.modules for name in ("pooch", "requests", "sklearn", "torch", "matplotlib", "rich")))
"""
    environment = {"BELATED_DATA": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, str(tmp_path / SET.name)), done.stderr


def test_another_file_of_that_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_datasets(monkeypatch, SET)
    monkeypatch.setenv("BELATED_DATA", str(tmp_path))
    (tmp_path / "folder").mkdir()
    (tmp_path / SET.name).write_bytes(b"something else")
    with pytest.raises(DataUnavailable) as refused:
        find_dataset(SET.name)
    assert str(refused.value) == (
        f"{tmp_path / SET.name} is not the file that was meant: its sha256 is not {SET.sha256}"
    )


def test_a_folder_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELATED_DATA", str(tmp_path / "none"))
    with pytest.raises(DataUnavailable, match=r"^BELATED_DATA must name a folder \(got '.*none'\)$"):
        find_dataset("pima_diabetes.csv")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(belated.InvalidInput, match=r"^name must be one of pima_diabetes.csv, .* \(got 'iris.csv'\)$"):
        find_dataset("iris.csv")


def test_what_has_no_download_says_where_it_comes_from(cache: Path) -> None:
    with pytest.raises(DataUnavailable) as refused:
        find_dataset("gpu_convolution.npz")
    assert str(refused.value) == (
        "gpu_convolution.npz is made from github.com/AutoTuningAssociation/benchmark_hub @8eeb99e, "
        "cachefiles/convolution_milo, and there is no download of it in this form; "
        "put the file into a folder and name it with BELATED_DATA"
    )
    assert isinstance(refused.value, belated.BelatedError)


def test_without_pooch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BELATED_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataUnavailable, match=r"downloading it needs pooch: pip install '\.\[reproduction\]'$"):
        find_dataset("pima_diabetes.csv")


def test_a_file_is_downloaded_once_and_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({"/a": CONTENT}) as (address, asked):
        set_datasets(monkeypatch, replace(SET, urls=(f"{address}/a",)))
        assert find_dataset(SET.name) == find_dataset(SET.name) == cache / SET.name
    assert (cache / SET.name).read_bytes() == CONTENT
    assert asked == ["/a"]
    assert [p.name for p in (cache / "folder").iterdir()] == ["small.csv"]  # nothing else was left behind


def test_a_file_in_the_folder_is_not_downloaded_and_one_that_is_missing_there_is(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BELATED_DATA", str(tmp_path))
    with serving({"/a": CONTENT}) as (address, asked):
        set_datasets(monkeypatch, replace(SET, urls=(f"{address}/a",)))
        assert find_dataset(SET.name) == cache / SET.name
        (tmp_path / "folder").mkdir()
        (tmp_path / SET.name).write_bytes(CONTENT)
        assert find_dataset(SET.name) == tmp_path / SET.name
    assert asked == ["/a"]


def test_a_damaged_file_in_the_cache_is_downloaded_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "folder").mkdir(parents=True)
    (cache / SET.name).write_bytes(CONTENT[:-1])
    with serving({"/a": CONTENT}) as (address, _):
        set_datasets(monkeypatch, replace(SET, urls=(f"{address}/a",)))
        assert find_dataset(SET.name).read_bytes() == CONTENT


def test_the_next_address_is_tried_when_one_fails_or_gives_something_else(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving({"/b": b"moved", "/c": CONTENT}) as (address, asked):
        set_datasets(monkeypatch, replace(SET, urls=tuple(f"{address}/{part}" for part in "abcd")))
        assert find_dataset(SET.name).read_bytes() == CONTENT
    assert asked == ["/a", "/b", "/c"]


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({"/a": b"something else"}) as (address, _):
        set_datasets(monkeypatch, replace(SET, urls=(f"{address}/a",)))
        with pytest.raises(DataUnavailable) as refused:
            find_dataset(SET.name)
    assert str(refused.value) == (
        f"what {address}/a gives is not folder/small.csv: its sha256 is not {SET.sha256}; "
        "put the file into a folder and name it with BELATED_DATA"
    )
    assert list((cache / "folder").iterdir()) == []


@pytest.mark.parametrize("how", ["no such page", "nobody there"])
def test_without_network_one_sentence_says_what_to_do(how: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({}) as (address, _):
        url = f"{address}/a"
        set_datasets(monkeypatch, replace(SET, urls=(url,)))
        if how == "no such page":
            with pytest.raises(DataUnavailable) as refused:
                find_dataset(SET.name)
    if how == "nobody there":  # the server is gone
        with pytest.raises(DataUnavailable) as refused:
            find_dataset(SET.name)
    assert str(refused.value) == (
        f"folder/small.csv could not be downloaded from {url}; put the file into a folder and name it with BELATED_DATA"
    )


def test_a_terminal_shows_a_bar(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    with serving({"/a": CONTENT}) as (address, _):
        set_datasets(monkeypatch, replace(SET, urls=(f"{address}/a",)))
        find_dataset(SET.name)
    said = capsys.readouterr().err
    assert "folder/small.csv" in said
    assert "14/14 bytes" in said


def upstream_lda(rows: np.ndarray) -> bytes:
    """As upstream has it: shuffled, 18 digits, no header."""
    shuffled = np.random.default_rng(0).permutation(rows)
    return "".join(",".join(f"{number:.18e}" for number in row) + "\n" for row in shuffled).encode()


@needs_data("lda_on_grid.csv.gz")
def test_the_lda_grid_is_made_of_upstreams_file(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (wanted,) = (s for s in DATASETS if s.name == "lda_on_grid.csv.gz")
    assert wanted.converted is not None
    rows = wanted.converted.numbers(ORIGINAL / "lda_on_grid.csv.gz")
    assert rows.shape == (288, 5)
    pages = {"/lda.csv": upstream_lda(rows), "/bad.csv": upstream_lda(rows[:-1]), "/page": b"<html>"}
    with serving(pages) as (address, _):
        at = lambda page: replace(wanted, converted=replace(wanted.converted, urls=(f"{address}/{page}",)))  # noqa: E731
        for page, sentence in (("bad.csv", "the numbers from http"), ("page", "what http")):
            set_datasets(monkeypatch, at(page))
            with pytest.raises(DataUnavailable, match=f"^{sentence}.*BELATED_DATA$"):
                find_dataset(wanted.name)
        set_datasets(monkeypatch, at("lda.csv"))
        made = find_dataset(wanted.name)
    assert made == cache / wanted.name
    assert np.array_equal(np.loadtxt(made, delimiter=",", skiprows=1), rows)
    assert find_dataset(wanted.name) == made  # by its numbers: the server is gone
    monkeypatch.setenv("BELATED_DATA", str(cache))
    assert find_dataset(wanted.name) == made


@needs_data("tst_svm.npz")
def test_the_multi_task_table_is_made_of_fifty_files(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (wanted,) = (s for s in DATASETS if s.name == "tst_svm.npz")
    assert wanted.converted is not None
    table = wanted.converted.numbers(ORIGINAL / "tst_svm.npz")
    assert table.shape == (50, 288, 29)
    lines = lambda rows: "".join(" ".join(map(repr, row)) + "\n" for row in rows.tolist()).encode()  # noqa: E731
    files = {f"/{name}": lines(table[i]) for i, name in enumerate(TASKS)}
    with serving(files) as (address, asked):
        urls = tuple(f"{address}/{name}" for name in TASKS)
        set_datasets(monkeypatch, replace(wanted, converted=replace(wanted.converted, urls=urls)))
        made = find_dataset(wanted.name)
    assert asked == [f"/{name}" for name in TASKS]
    with np.load(made) as ours, np.load(ORIGINAL / "tst_svm.npz") as theirs:
        for part in ("task", "config", "accuracy", "meta_features"):
            assert np.array_equal(ours[part], theirs[part])
    assert find_dataset(wanted.name) == made
