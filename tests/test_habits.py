"""What is said in several places is the same in all of them: Pythons, the version, the hooks, the make targets."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import belated

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read_yaml(name: str) -> dict:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_every_python_of_the_classifiers_is_tested() -> None:
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    jobs = read_yaml(".github/workflows/check.yml")["jobs"]
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert jobs["test"]["strategy"]["matrix"]["python-version"] == named
    assert jobs["wheel"]["strategy"]["matrix"]["python-version"] == named


def test_the_version_is_written_once() -> None:
    assert "version" in PROJECT["dynamic"]
    assert "version" not in read_yaml("CITATION.cff")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\d+\.\d+\.\d+)", changes, re.MULTILINE)
    assert newest is not None
    assert re.fullmatch(re.escape(newest[1]) + r"(\.dev\d+|[ab]\d+|rc\d+)?", belated.__version__)


RECIPES = set(re.findall(r"^([a-z-]+):.*\n\t", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "docs/default.md", "pyproject.toml", ".github/workflows/check.yml"]
)
def test_every_make_target_that_is_named_does_something(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(r"(?:`|\$ |run: |\()make ((?:[a-z-]+ ?)+)", text)
    assert named
    assert {target for targets in named for target in targets.split()} <= RECIPES


def test_every_phony_target_has_a_recipe() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(phony.split()) == RECIPES


def test_hooks_download_nothing() -> None:
    repositories = read_yaml(".pre-commit-config.yaml")["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    assert {hook["language"] for hook in repositories[0]["hooks"]} == {"system"}


def test_the_software_is_cited_under_the_names_it_has() -> None:
    cited = read_yaml("CITATION.cff")
    assert cited["title"].startswith(f"{PROJECT['name']}: ")
    assert [author["name"] for author in cited["authors"]] == [author["name"] for author in PROJECT["authors"]]
    assert cited["license"] == PROJECT["license"]
