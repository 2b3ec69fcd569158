"""Short runs of one panel, for tests."""

from pathlib import Path

from reproduction.panel_run import RunJob


def make_job(curve: str = "GP-UCB-SDF", seed: int = 3, iterations: int = 12) -> RunJob:
    return RunJob(panel="fig1c", curve=curve, reading="text", seed=seed, iterations=iterations)


def make_url(folder: Path) -> str:
    return f"sqlite:///{folder}/runs.db"
