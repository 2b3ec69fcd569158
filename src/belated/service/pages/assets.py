"""The files that pages load: one stylesheet, one script, and Plotly's own script from the installed package.

Their addresses have a version in them, so that a browser keeps them for good."""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

UNUSED_STYLE = re.compile(rb'getElementById\("([0-9a-f]{64})"\)\)\{var \w+=document\.createElement\("style"\)')
FOR_GOOD = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    """A file that never changes under its address."""

    body: bytes
    packed: bytes  # the same, compressed
    kind: str
    version: str


@cache
def read_asset(name: str) -> Asset | None:
    """A file of ours, or Plotly's script; read and compressed once. None where there is none of this name."""
    if name == "plotly.js":
        import plotly
        from plotly.offline import get_plotlyjs

        return make_asset(get_plotlyjs().encode(), "text/javascript", plotly.__version__)
    kinds = {"app.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"}
    if name not in kinds:
        return None
    body = (files("belated.service.pages") / "static" / name).read_bytes()
    return make_asset(body, kinds[name], hashlib.sha256(body).hexdigest()[:12])


def make_asset(body: bytes, kind: str, version: str) -> Asset:
    return Asset(body, gzip.compress(body, 6, mtime=0), kind, version)


@cache
def find_unused_styles() -> list[str]:
    """The ids of style elements that Plotly adds as soon as it is loaded, for maps, which we do not draw.

    It adds none whose id is there already; our policy would refuse it, and the browser would report that."""
    asset = read_asset("plotly.js")
    return [] if asset is None else [found.decode() for found in UNUSED_STYLE.findall(asset.body)]


@cache
def find_address(name: str) -> str:
    """Where a page finds a file."""
    import plotly

    version = plotly.__version__ if name == "plotly.js" else None
    asset = None if version else read_asset(name)
    return f"/assets/{version or (asset.version if asset else '')}/{name}"


def answer_asset(request: Request, name: str) -> Response | None:
    """A file, compressed for those who take that."""
    asset = read_asset(name)
    if asset is None:
        return None
    headers = {"Cache-Control": FOR_GOOD, "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(asset.body, headers=headers, media_type=asset.kind)
    return Response(asset.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=asset.kind)
