"""`belated rename`: another name, if it is free."""

import pytest

from tests.cli.shell import SPACE, check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


@pytest.mark.usefixtures("lab")
def test_the_study_is_found_by_its_new_name() -> None:
    assert run_json("rename", "lab", "bench", "--by", "Anna") == {"study": "bench", "before": "lab"}
    assert invoke("tell", "bench", "2", "0.5").exit_code == 0
    assert "Anna: renamed the study from lab to bench" in invoke("log", "bench").stdout
    check_refused(["tell", "lab", "2", "0.5"], "there is no study 'lab'")
    invoke("new", "lab", *SPACE)
    check_refused(["rename", "bench", "lab"], "there is a study lab already")
