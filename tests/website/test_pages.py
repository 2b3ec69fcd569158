"""The site shows every page, where it lies in a checkout."""

from pathlib import Path
from typing import Any

import yaml

from website.pages import ROOT, lay_out


def list_pages(nav: Any) -> list[str]:
    """The pages of a part of the navigation."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in list_pages(part)]


def test_every_page_is_in_the_navigation_and_every_entry_leads_to_a_page(tmp_path: Path) -> None:
    lay_out(tmp_path / "pages")
    laid_out = {path.relative_to(tmp_path / "pages").as_posix() for path in (tmp_path / "pages").rglob("*.md")}
    pages = list_pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    assert len(pages) == len(set(pages))
    assert set(pages) == laid_out
