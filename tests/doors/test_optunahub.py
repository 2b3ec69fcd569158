"""The folder for OptunaHub loads, and says what OptunaHub asks for."""

from pathlib import Path

import pytest

pytest.importorskip("optuna")
pytest.importorskip("optunahub")
pytest.importorskip("yaml")

import optuna
import optunahub
import yaml

REGISTRY = Path(__file__).resolve().parents[2] / "hub" / "package"
OURS = REGISTRY / "samplers" / "belated"


def test_the_sampler_is_loaded_from_the_folder() -> None:
    module = optunahub.load_local_module("samplers/belated", registry_root=str(REGISTRY))
    study = optuna.create_study(sampler=module.BelatedSampler(silence="unknown", seed=0))
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=12)
    assert study.best_value < 0.01


def test_the_page_has_the_fields_and_the_folder_the_files_that_optunahub_asks_for() -> None:
    _, fields, text = (OURS / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    said = yaml.safe_load(fields)
    assert said.keys() == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert said["tags"][0] == "sampler"
    assert "## Class or Function Names\n\n- BelatedSampler\n" in text
    assert {path.name for path in OURS.iterdir()} >= {"__init__.py", "README.md", "LICENSE", "requirements.txt"}
