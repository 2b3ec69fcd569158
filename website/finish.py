"""The last step of the site: it must need nothing from elsewhere, so that it can be read without a network."""

import os
import re
import sys
from pathlib import Path

FRAME_WORKER = "https://unpkg.com/iframe-worker/shim"  # what the offline plugin loads; ours does the same
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc="(?:https?:)?//[^"]*"|<link[^>]*\shref="https?://[^"]*\.css"""
)


def finish(site: Path) -> list[str]:
    """Put our worker into each page, and list what pages still load from elsewhere."""
    loaded = []
    for page in sorted(site.rglob("*.html")):
        ours = os.path.relpath(site / "website" / "worker.js", page.parent)
        text = page.read_text(encoding="utf-8").replace(FRAME_WORKER, ours)
        page.write_text(text, encoding="utf-8")
        loaded += [f"{page.relative_to(site)}: {found}" for found in LOADED.findall(text)]
    return loaded


if __name__ == "__main__":
    left = finish(Path(sys.argv[1]))
    if left:
        sys.exit("The site loads from elsewhere:\n" + "\n".join(left))
