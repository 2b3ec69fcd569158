"""The pictures of the user stories, made by what the pages themselves say: `make stories`.

Each page is run in an empty folder: first some of its Python, then its commands, one of which writes the picture."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

ROOT = Path(__file__).resolve().parents[1]
# Whole jobs, and how many of their Python blocks come before their commands; in conversions the first writes a file.
STORIES = {"conversions": 1, "lab": 4, "clinic": 3, "tuning": 4}
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = "Printed"  # the name of a text in a picture
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


def list_shown(name: str) -> list[str]:
    """The lines that a story says its commands print."""
    lines = [line for block in CONSOLE.findall(read_story(name)) for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith(("$ ", "> ", "..."))]


def run_story(name: str, folder: Path) -> tuple[Path, str]:
    """Do what a page says in an empty folder; the picture that it makes there, and what its commands print."""
    commands = [command for block in CONSOLE.findall(read_story(name)) for command in find_commands(block)]
    programs = Path(sys.executable).parent  # where `belated` is installed
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("BELATED_STORE", None)
    subprocess.run([sys.executable, "-c", find_code(name)], cwd=folder, env=environment, check=True)  # noqa: S603
    script = "\n".join(["set -e", *commands])
    words = ["/bin/sh", "-c", script]
    ran = subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True, text=True)  # noqa: S603
    (picture,) = folder.glob("*.png")
    return picture, ran.stdout


def keep_picture(picture: Path, place: Path, printed: str) -> None:
    """A chart in few colours, so in few bytes; in its text what was printed beside it, so that it can be told from an
    older one."""
    said = PngInfo()
    said.add_itxt(PRINTED, printed)
    with Image.open(picture) as image:
        image.convert("RGB").quantize(COLOURS).save(place, optimize=True, pnginfo=said)


def read_printed(place: Path) -> str:
    """What was printed beside a picture; empty where nobody kept it."""
    with Image.open(place) as image:
        return str(image.info.get(PRINTED, ""))


if __name__ == "__main__":
    for story in sys.argv[1:] or STORIES:
        with tempfile.TemporaryDirectory() as empty:
            picture, printed = run_story(story, Path(empty))
            keep_picture(picture, ROOT / "docs" / "images" / f"{story}.png", printed)
        print(f"docs/images/{story}.png")  # noqa: T201
