"""The documentation site in chromium: every page on a phone and on a desk, without a network, and its search."""

import os
import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

SITE = Path(__file__).resolve().parents[2] / "build" / "site"
PAGES = sorted(str(page.relative_to(SITE)) for page in SITE.rglob("*.html"))
STORIES = [f"docs/{name}.html" for name in ("lab", "tuning", "conversions", "clinic")]


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the site is served, as `make docs` has built it; without it the test is skipped, in CI it fails."""
    if not PAGES:
        assert not os.environ.get("CI"), "CI must build the site first"
        pytest.skip("there is no site (make docs)")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Any]:
    """Opens a page in a window of its own; afterwards nothing was loaded from elsewhere, and nothing went wrong."""
    contexts, wrong = [], list[str]()

    def open_page(name: str, wide: int = 1280, scheme: str = "light") -> Any:
        if not contexts or contexts[-1][1:] != (wide, scheme):
            context = browser.new_context(viewport={"width": wide, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("request", lambda request: wrong.append(request.url) if is_elsewhere(request.url) else None)
            contexts.append((page, wide, scheme))
        page = contexts[-1][0]
        assert page.goto(f"{address}/{name}").ok
        return page

    def is_elsewhere(url: str) -> bool:
        return not url.startswith((address, "data:", "blob:"))

    yield open_page
    for page, *_ in contexts:
        page.context.close()
    assert wrong == []


@pytest.mark.parametrize("wide", [360, 1280])
def test_no_page_is_wider_than_the_window(visit: Any, wide: int) -> None:
    for name in PAGES:
        page = visit(name, wide)
        assert page.evaluate("document.documentElement.scrollWidth") <= wide, name
        assert page.locator("h1").first.inner_text().strip(), name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_story_shows_its_picture(visit: Any, scheme: str) -> None:
    for name in STORIES:
        page = visit(name, scheme=scheme)
        widths = page.evaluate("[...document.querySelectorAll('article img')].map(image => image.naturalWidth)")
        assert widths, name
        assert all(width > 600 for width in widths), name


def test_the_search_finds_a_word_without_a_network(visit: Any) -> None:
    page = visit("index.html")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("/")
    page.keyboard.type("attribution", delay=20)
    page.get_by_text(re.compile(r"^\d+ results?$")).wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"docs/|reference/"))
    assert "attribution" in page.locator("article").inner_text()


def test_dark_pages_are_dark(visit: Any) -> None:
    def lightness(scheme: str) -> float:
        colour = visit("index.html", scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(float, colour[colour.index("(") + 1 : -1].split(",")[:3]))

    assert lightness("dark") < 150 < 600 < lightness("light")
