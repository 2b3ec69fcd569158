"""Every Python block of the README, the docs, CONTRIBUTING and the reproduction runs, in order, page by page."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(.*?)\s*")


@dataclass(frozen=True)
class Block:
    line: int  # of the first line of the source, counted from 1
    language: str  # what follows the fence, in full
    source: str


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a Markdown page that call themselves Python, in whatever way."""
    found: list[Block] = []
    lines = page.splitlines()
    at = 0
    while at < len(lines):
        opening = FENCE.fullmatch(lines[at])
        at += 1
        if opening is None:
            continue
        start = at
        while at < len(lines) and not (lines[at].strip().startswith(opening[1]) and not lines[at].strip(" `~")):
            at += 1
        if opening[2].lstrip("{.").lower().startswith("py"):
            found.append(Block(start + 1, opening[2], textwrap.dedent("\n".join(lines[start:at]))))
        at += 1
    return found


def blocks_of(path: Path) -> list[Block]:
    return blocks(path.read_text(encoding="utf-8"))


EVERY_PAGE = (README, CONTRIBUTING, *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("reproduction/*.md")))
PAGES = [page for page in EVERY_PAGE if blocks_of(page)]


def test_every_page_is_seen() -> None:
    names = {str(page.relative_to(ROOT)) for page in EVERY_PAGE}
    assert {"README.md", "docs/shell.md", "reproduction/README.md", "reproduction/REPORT.md"} <= names


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    broken = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not broken


def test_the_readme_has_python() -> None:
    assert blocks_of(README)


def mark(page: Path) -> object:
    """What needs a library that only `make test-doors` installs runs there."""
    doors = page.name == "ray.md"
    return pytest.param(page, marks=pytest.mark.doors) if doors else page


@pytest.mark.parametrize("page", [mark(page) for page in PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(page):
        assert block.language == "python", f"{page.name}:{block.line - 1}: Python blocks are marked ```python and run"
        source = "\n" * (block.line - 1) + block.source  # so that a traceback shows the page's own lines
        exec(compile(source, str(page), "exec"), namespace)


def test_a_block_is_found_wherever_it_stands() -> None:
    plain = "text\n```python\na = 1\n```\n"
    in_a_list = "- item\n\n  ~~~python no-run\n  if a:\n      b\n  ~~~\n"
    others = "```sh\n```\n````python\n```\n````\n"
    assert blocks(plain + in_a_list + others) == [
        Block(3, "python", "a = 1"),
        Block(8, "python no-run", "if a:\n    b"),
        Block(14, "python", "```"),
    ]
