"""Every data set has a source, a licence and a checksum."""

from __future__ import annotations

from reproduction.datasets import DATASETS


def test_what_is_known_of_each() -> None:
    assert [dataset.name for dataset in DATASETS] == [
        "pima_diabetes.csv",
        "tst_svm.npz",
        "svm_reference_runs.csv",
        "svm_reference_queries.csv.gz",
        "mnist/train-images-idx3-ubyte.gz",
        "mnist/train-labels-idx1-ubyte.gz",
        "mnist/t10k-images-idx3-ubyte.gz",
        "mnist/t10k-labels-idx1-ubyte.gz",
        "lda_on_grid.csv.gz",
        "gpu_convolution.npz",
        "delays_dengue.csv.gz",
    ]
    for dataset in DATASETS:
        assert dataset.what
        assert dataset.source
        assert dataset.licence
        assert len(dataset.sha256) == 64
        assert all(
            url.startswith("https://") for url in dataset.urls + (dataset.converted.urls if dataset.converted else ())
        )
