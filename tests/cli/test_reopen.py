"""`belated reopen` ends what `belated close` began, locked or not."""

import pytest

from tests.cli.shell import check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


@pytest.mark.usefixtures("lab")
def test_a_locked_study_refuses_everything_until_it_is_reopened() -> None:
    assert run_json("close", "--lock") == {"study": "lab", "closed": True, "locked": True, "out": 0}
    for args in (["tell", "2", "0.5"], ["amend", "1", "0.4", "--reason", "typo"], ["undo", "--yes"], ["ask"]):
        check_refused(args, "This study is locked" if args[0] != "undo" else "")
    check_refused(["reopen"], "Missing option '--reason'")
    assert invoke("reopen", "--reason", "two more").stdout == "Study lab is open\n"
    invoke("tell", "2", "0.5")
    invoke("ask")
