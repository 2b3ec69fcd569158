"""The built site needs nothing from elsewhere, and its links lead somewhere."""

from pathlib import Path

from website.finish import FRAME_WORKER, finish


def test_our_worker_takes_the_place_of_the_one_on_the_network(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "lab.html"
    (tmp_path / "website").mkdir()
    (tmp_path / "website" / "worker.js").touch()
    page.write_text(f'<script src="{FRAME_WORKER}"></script><a href="https://example.org/">elsewhere</a>')
    assert finish(tmp_path) == []
    assert '<script src="../website/worker.js">' in page.read_text()


def test_what_is_loaded_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        '<img alt="" src="https://example.org/a.png"><link href="https://e.org/a.css">'
    )
    assert len(finish(tmp_path)) == 2


def test_links_and_pictures_that_are_not_there_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#part">b</a><a href="#top">up</a><a href="https://example.org/x">far</a>'
        '<a href="b.html#gone">1</a><a href="c.html">2</a><a href="#gone">3</a><img alt="" src="images/no.png">'
    )
    (tmp_path / "b.html").write_text('<p id="part">B</p><a href="/a.html">a</a><a href="./">home</a>')
    targets = [line.rpartition(": ")[2] for line in finish(tmp_path)]
    assert targets == ["b.html#gone", "c.html", "#gone", "images/no.png", "./"]
