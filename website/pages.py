"""Lays the pages out for the site, as they lie in a checkout: their links lead to the same places here and there."""

import shutil
import sys
from pathlib import Path

from website.reference import find_undocumented, write_pages

ROOT = Path(__file__).resolve().parents[1]
SHOWN = (
    "*.md",
    "LICENSE",
    "docs/**/*.md",
    "docs/images/*",
    "examples/*.*",
    "examples/notebooks/*.ipynb",
    "benchmarks/conversions/conversions.png",
    "benchmarks/regret/regret.png",
    "benchmarks/scale/scale.png",
    "reproduction/*.md",
    "reproduction/results/*",
    "website/*.css",
    "website/*.js",
)


def lay_out(folder: Path) -> None:
    """Copy what is shown into the folder, and write the reference there."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in [path for pattern in SHOWN for path in ROOT.glob(pattern) if path.is_file()]:
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    for name, text in write_pages().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    undocumented = find_undocumented()
    if undocumented:
        sys.exit(f"Public names without a docstring: {', '.join(undocumented)}")
    lay_out(Path(sys.argv[1]))
