"""The pictures of the user stories, made by what the pages themselves say: `make stories`.

Each page is run in an empty folder: first some of its Python, then its commands, one of which writes the picture."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
# Whole jobs, and how many of their Python blocks come before their commands; in conversions the first writes a file.
STORIES = {"conversions": 1, "lab": 4, "clinic": 3, "tuning": 4}
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COLOURS = 128  # enough for a chart, and a third of the bytes


def read_story(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def find_code(name: str) -> str:
    """The Python that comes before the commands of a story."""
    return "\n".join(PYTHON.findall(read_story(name))[: STORIES[name]])


def find_commands(block: str) -> list[str]:
    """The lines behind `$ `, each with its continuations behind `> `."""
    found: list[str] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(line[2:])
        elif line.startswith("> "):
            found[-1] += "\n" + line[2:]
    return found


def run_story(name: str, folder: Path) -> Path:
    """Do what a page says in an empty folder; the picture that it makes there."""
    commands = [command for block in CONSOLE.findall(read_story(name)) for command in find_commands(block)]
    programs = Path(sys.executable).parent  # where `belated` is installed
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("BELATED_STORE", None)
    subprocess.run([sys.executable, "-c", find_code(name)], cwd=folder, env=environment, check=True)  # noqa: S603
    script = "\n".join(["set -e", *commands])
    subprocess.run(["/bin/sh", "-c", script], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    (picture,) = folder.glob("*.png")
    return picture


def keep_picture(picture: Path, place: Path) -> None:
    """A chart in few colours, so in few bytes."""
    with Image.open(picture) as image:
        image.convert("RGB").quantize(COLOURS).save(place, optimize=True)


if __name__ == "__main__":
    for story in sys.argv[1:] or STORIES:
        with tempfile.TemporaryDirectory() as empty:
            keep_picture(run_story(story, Path(empty)), ROOT / "docs" / "images" / f"{story}.png")
        print(f"docs/images/{story}.png")  # noqa: T201
