"""Files that pages load: compressed once, kept for good, and small where they are ours."""

import gzip

import pytest

pytest.importorskip("plotly")
pytest.importorskip("starlette")

from starlette.requests import Request

from belated.service.pages.assets import answer_asset, find_address, find_unused_styles, read_asset


def ask(name: str, accepts: str) -> object:
    scope = {"type": "http", "headers": [(b"accept-encoding", accepts.encode())]}
    return answer_asset(Request(scope), name)


def test_our_script_and_stylesheet_are_small() -> None:
    sizes = {name: len(asset.body) for name in ("app.js", "style.css") if (asset := read_asset(name)) is not None}
    assert sizes["app.js"] < 15_000
    assert sizes["style.css"] < 25_000


def test_a_file_is_sent_compressed_and_kept_for_good() -> None:
    for name in ("app.js", "plotly.js"):
        packed, plain = ask(name, "gzip, br"), ask(name, "")
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(packed.body) == plain.body
        assert "immutable" in packed.headers["cache-control"]
    assert len(ask("plotly.js", "gzip").body) < 1_600_000


def test_addresses_change_with_what_is_there() -> None:
    import plotly

    assert find_address("plotly.js") == f"/assets/{plotly.__version__}/plotly.js"
    assert read_asset("app.js").version in find_address("app.js")
    assert answer_asset(Request({"type": "http", "headers": []}), "../routes.py") is None


def test_the_styles_that_plotly_would_add_are_found() -> None:
    assert len(find_unused_styles()) == 1
