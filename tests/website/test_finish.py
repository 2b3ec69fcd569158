"""The built site needs nothing from elsewhere."""

from pathlib import Path

from website.finish import FRAME_WORKER, finish


def test_our_worker_takes_the_place_of_the_one_on_the_network(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "lab.html"
    page.write_text(f'<script src="{FRAME_WORKER}"></script><a href="https://example.org/">elsewhere</a>')
    assert finish(tmp_path) == []
    assert '<script src="../website/worker.js">' in page.read_text()


def test_what_is_loaded_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        '<img alt="" src="https://example.org/a.png"><link href="https://e.org/a.css">'
    )
    assert len(finish(tmp_path)) == 2
