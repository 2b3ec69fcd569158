"""The last step of the site: it must need nothing from elsewhere, and what it links to must be there."""

import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FRAME_WORKER = "https://unpkg.com/iframe-worker/shim"  # what the offline plugin loads; ours does the same
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc="(?:https?:)?//[^"]*"|<link[^>]*\shref="https?://[^"]*\.css"""
)


class LinkReader(HTMLParser):
    """What a page links to or shows, and the places in it that can be linked to."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def finish(site: Path) -> list[str]:
    """Put our worker into each page; list what pages load from elsewhere, and what they link to that is not there."""
    wrong, read = [], dict[Path, LinkReader]()
    for page in sorted(site.rglob("*.html")):
        ours = os.path.relpath(site / "website" / "worker.js", page.parent)
        text = page.read_text(encoding="utf-8").replace(FRAME_WORKER, ours)
        page.write_text(text, encoding="utf-8")
        wrong += [f"{page.relative_to(site)} loads from elsewhere: {found}" for found in LOADED.findall(text)]
        read[page.resolve()] = reader = LinkReader()
        reader.feed(text)
    for page, reader in read.items():
        missing = [target for target in reader.targets if not is_there(target, page, site.resolve(), read)]
        wrong += [f"{page.relative_to(site.resolve())} links to what is not there: {target}" for target in missing]
    return wrong


def is_there(target: str, page: Path, site: Path, read: dict[Path, LinkReader]) -> bool:
    """Whether a link leads to a file of the site, and to a place that is in it; what is elsewhere is not looked up."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return True
    start = site if parts.path.startswith("/") else page.parent
    path = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else page
    path = path / "index.html" if path.is_dir() else path
    place = unquote(parts.fragment)
    return path.is_file() and (not place or path not in read or place in read[path].places)


if __name__ == "__main__":
    found = finish(Path(sys.argv[1]))
    if found:
        sys.exit("\n".join(found))
