"""`belated close`: no more asks."""

import pytest

from tests.cli.shell import SPACE, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_close_ends_asking_and_not_telling() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask")
    assert run_json("close") == {"study": "lab", "closed": True, "locked": False, "out": 1}
    for args in (["ask"], ["add", "x=0.5", "act=relu"]):
        assert "This study is closed" in invoke(*args, code=2).stderr
    invoke("tell", "1", "0.5")
    assert invoke("close").stdout == "Study lab is closed\n"
    assert invoke("show").stdout.splitlines()[1].endswith("; closed")
