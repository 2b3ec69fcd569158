"""The dashboard in chromium, as people use it: with a mouse, by keyboard alone, and on a phone."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from belated import Choice, Integer, Real, Study, studies

playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("plotly")

from belated.service.sign_in import make_code  # noqa: E402
from tests.support.servers import Running, run_server  # noqa: E402

expect = playwright.expect
DAY = 86400.0
SCRIPT = "<script>document.title = 'mine'</script>"
BOLD = "<b>bold</b>"
PAGES = ("", "/belief", "/delays", "/trials", "/trials/2", "/history", "/undo", "/add", "/manage")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's chromium; without it the test is skipped, in CI it fails."""
    program = shutil.which("chromium")
    if program is None:
        assert not os.environ.get("CI"), "CI must run the tests in chromium"
        pytest.skip("chromium is not installed (Debian: apt install chromium)")
    with playwright.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    store = f"sqlite:///{tmp_path_factory.mktemp('dashboard')}/lab.db"
    with run_server(store, open_to_all=False) as running:
        yield running


@pytest.fixture
def lab(server: Running, request: pytest.FixtureRequest) -> Study:
    """A study of its own: five were asked days ago, and two of them told."""
    now = [time.time() - 4 * DAY]
    study = Study.create(
        server.store,
        "".join(letter if letter.isalnum() else "-" for letter in request.node.name),
        about="Which bath extracts most?",
        outcome_name="yield",
        unit="%",
        space={"heat": Real(20, 90, unit="°C"), "stages": Integer(1, 8), "solvent": Choice("water", BOLD, SCRIPT)},
        silence="unknown",
        patience="3d",
        floor=0.0,
        limits=(0.0, 100.0),
        seed=1,
        clock=lambda: now[0],
    )
    for i in range(5):
        study.ask(by="robot", remark=SCRIPT)
        now[0] += DAY / 2
        if i in (1, 2):
            study.tell(i, 40.0 + i, by="ben", remark=SCRIPT)
    return study


class Person:
    """Somebody with a browser; at the end nothing has gone wrong in it."""

    def __init__(self, browser: Any, server: Running, **how: Any) -> None:
        self.server = server
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        expect.set_options(timeout=20_000)
        self.troubles: list[str] = []
        self.hosts: set[str] = set()
        self.page.on(
            "console", lambda said: self.troubles.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))

    def sign_in(self, name: str = "anna", scope: Any = "own") -> None:
        text = make_code(self.server.service.access, name)
        if scope != "own":
            text, _ = self.server.service.tokens.make(name, scope)
        self.page.goto(f"{self.server.url}/sign-in#{text}")
        expect(self.page.get_by_role("heading", name="Studies")).to_be_visible()

    def open(self, study: Study, path: str = "") -> Any:
        self.page.goto(f"{self.server.url}/studies/{study.name}{path}")
        return self.page

    def see_charts(self) -> None:
        self.page.wait_for_selector("[data-chart]:not([data-drawn])", state="detached")
        self.page.wait_for_selector(".slices figure:not([data-drawn])", state="detached")


@pytest.fixture
def anna(browser: Any, server: Running, request: pytest.FixtureRequest) -> Iterator[Person]:
    person = Person(browser, server, **getattr(request, "param", {}))
    person.sign_in()
    yield person
    person.context.close()
    assert person.troubles == []
    assert person.hosts == {server.url.removeprefix("http://")}


PHONE = {"viewport": {"width": 360, "height": 780}, "has_touch": True, "is_mobile": True}


def test_a_link_signs_in_once_and_leaves_nothing_in_the_address(browser: Any, server: Running) -> None:
    person = Person(browser, server)
    code = make_code(server.service.access, "anna")
    person.page.goto(f"{server.url}/sign-in#{code}")
    expect(person.page).to_have_url(f"{server.url}/")
    expect(person.page.get_by_text("anna, may own")).to_be_visible()
    person.page.get_by_role("button", name="Sign out").click()
    expect(person.page).to_have_url(f"{server.url}/sign-in?next=%2F")
    person.page.goto(f"{server.url}/sign-in#{code}")
    expect(person.page.get_by_role("alert")).to_contain_text("this token or code is not known", ignore_case=True)
    assert "#" not in person.page.url
    person.context.close()


def test_who_is_not_signed_in_comes_back_to_the_page_after_it(browser: Any, server: Running, lab: Study) -> None:
    person = Person(browser, server)
    page = person.open(lab, "/trials")
    expect(page).to_have_url(f"{server.url}/sign-in?next=%2Fstudies%2F{lab.name}%2Ftrials")
    page.get_by_label("Token or code").fill(make_code(server.service.access, "anna"))
    page.get_by_label("Token or code").press("Enter")
    expect(page).to_have_url(f"{server.url}/studies/{lab.name}/trials")
    person.context.close()


@pytest.mark.parametrize("anna", [{}, PHONE], indirect=True, ids=["desk", "phone"])
def test_ask_and_tell_out_of_order(anna: Person, lab: Study) -> None:
    page = anna.open(lab)
    anna.see_charts()
    page.get_by_role("button", name="Ask for the next query").click()
    expect(page.get_by_role("status")).to_contain_text("Asked trial 6: heat")
    expect(page.get_by_label("yield (%) of trial 6")).to_be_focused()
    page.get_by_label("yield (%) of trial 6").fill("88.5")
    page.get_by_label("yield (%) of trial 6").press("Enter")
    expect(page.get_by_role("status")).to_have_text("Told 88.5 of trial 6.")
    expect(page.get_by_label("yield (%) of trial 6")).to_have_count(0)
    expect(page.locator(".tile", has_text="Best so far")).to_contain_text("88.5 %")
    expect(page.locator(":focus")).to_have_attribute("id", "tell-5")
    page.get_by_label("yield (%) of trial 3").fill("12")
    page.locator("[data-key='3']").get_by_role("button", name="Tell").click()
    expect(page.get_by_role("status")).to_contain_text("Told 12 of trial 3")
    again = Study.open(anna.server.store, lab.name or "")
    assert [(again.trial(number).outcome, again.trial(number).ended_by) for number in (6, 3)] == [
        (88.5, "anna"),
        (12.0, "anna"),
    ]
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_a_mistyped_outcome_stays_and_is_put_right(anna: Person, lab: Study) -> None:
    page = anna.open(lab)
    field, error = page.get_by_label("yield (%) of trial 4"), page.get_by_role("alert")
    field.fill("7,5")
    field.press("Enter")
    expect(error).to_have_text("Value must be a number (got '7,5').")
    for typed in ("1e999", ""):
        field.fill(typed)
        field.press("Enter")
        expect(error).to_have_text(f"Value must be a number (got '{typed}').")
    field.fill("7,5")
    field.press("Enter")
    expect(error).to_have_text("Value must be a number (got '7,5').")
    expect(field).to_have_value("7,5")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    assert error.get_attribute("id") in (field.get_attribute("aria-describedby") or "")
    field.fill("750")
    field.press("Enter")
    with pytest.raises(ValueError) as refused:  # noqa: PT011  (what it says is compared)
        lab.tell(4, 750)
    sentence = str(refused.value)
    expect(error).to_have_text(f"{sentence[0].upper()}{sentence[1:]}.")
    field.fill("75.0")
    field.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Told 75 of trial 4")
    anna.troubles = [said for said in anna.troubles if "400" not in said]  # chromium reports every refusal
    assert Study.open(anna.server.store, lab.name or "").trial(4).outcome == 75.0


def test_the_chart_moves_when_somebody_else_tells(anna: Person, lab: Study) -> None:
    page = anna.open(lab)
    anna.see_charts()
    expect(page.locator("#live")).to_have_text("live")
    page.evaluate("window.stays = true")
    before = page.locator(".progress .plot .point").count()
    typed = page.get_by_label("yield (%) of trial 3")
    typed.fill("33.")
    token, _ = anna.server.service.tokens.make("robot", "tell")
    told = anna.server.call("POST", f"/api/studies/{lab.name}/tell", {"trial": 5, "value": 93.25}, token=token)
    assert told.status == 200
    expect(page.locator(".progress figcaption")).to_contain_text("the best is 93.25 %, of trial 5")
    expect(page.locator(".tile", has_text="Best so far")).to_contain_text("93.25 %")
    expect(page.get_by_label("yield (%) of trial 5")).to_have_count(0)
    expect(page.locator(".lately")).to_contain_text("robot told 93.25 of trial 5")
    page.wait_for_timeout(300)
    assert page.locator(".progress .plot .point").count() == before  # one fewer is pending, one more is heard
    expect(typed).to_have_value("33.")  # what is being typed stays
    assert page.evaluate("window.stays")


def test_by_keyboard_alone(anna: Person, lab: Study) -> None:
    page = anna.open(lab)
    anna.see_charts()
    keys = page.keyboard
    keys.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    keys.press("Enter")
    for _ in range(40):
        keys.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == "Ask for the next query":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    keys.press("Enter")
    expect(page.get_by_label("yield (%) of trial 6")).to_be_focused()
    keys.type("61")
    keys.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Told 61 of trial 6.")
    anna.open(lab, "/undo")
    expect(page.get_by_text("told 61.0 of trial 6")).to_be_visible()
    for _ in range(40):
        keys.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == "Take it back":
            break
    keys.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Event 9 was taken back.")
    expect(page.locator("#main")).to_be_focused()
    assert Study.open(anna.server.store, lab.name or "").trial(6).status == "pending"


def test_fail_amend_add_close_and_open_again(anna: Person, lab: Study) -> None:
    page = anna.open(lab, "/trials/3#failed")
    page.get_by_label("infeasible").check()
    page.get_by_label("Reason").fill("it boils")
    page.get_by_role("button", name="End this trial").click()
    expect(page.get_by_role("status")).to_have_text("Trial 3 ended as infeasible.")
    anna.open(lab, "/trials/1")
    page.get_by_label("The right yield").fill("44.25")
    page.get_by_role("button", name="Amend").click()
    expect(page.get_by_role("alert")).to_contain_text("Reason must be")
    expect(page.get_by_label("The right yield")).to_have_value("44.25")
    page.get_by_label("Reason").fill("digits swapped")
    page.get_by_role("button", name="Amend").click()
    expect(page.get_by_role("status")).to_have_text("Trial 1 was put right.")
    anna.open(lab, "/add")
    page.get_by_label("heat (°C)").fill("sixty")
    page.get_by_label("stages").fill("4")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert")).to_have_text("heat: value must be a number (got 'sixty').")
    expect(page.get_by_label("heat (°C)")).to_be_focused()
    page.get_by_label("heat (°C)").fill("60.5")
    page.get_by_label("solvent").select_option(label=BOLD)
    page.get_by_label("yield (%)").fill("71")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("status")).to_have_text("Added trial 6: heat 60.5, stages 4, solvent <b>bold</b>.")
    anna.open(lab, "/add")
    page.get_by_label("heat (°C)").fill("95")
    page.get_by_label("stages").fill("4")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Added trial 7: heat 95, ")
    expect(page.get_by_role("status")).to_contain_text("Outside the ranges: kept and used, never proposed.")
    anna.open(lab, "/manage")
    page.get_by_role("button", name="Close it").click()
    expect(page.get_by_role("status")).to_have_text("The study is closed.")
    page.get_by_role("region", name="This study is closed").get_by_label("Reason").fill("two more")
    page.get_by_role("button", name="Open it again").click()
    expect(page.get_by_role("status")).to_have_text("The study is open again.")
    page.get_by_role("button", name="Lock it").click()
    expect(page.get_by_role("status")).to_have_text("The study is locked.")
    anna.open(lab)
    expect(page.get_by_role("button", name="Tell")).to_have_count(0)
    now = Study.open(anna.server.store, lab.name or "")
    assert (now.trial(3).failure, now.trial(1).outcome, now.trial(6).outcome) == ("infeasible", 44.25, 71.0)
    assert now.trial(6).params == {"heat": 60.5, "stages": 4, "solvent": BOLD}
    assert now.locked
    anna.troubles = [said for said in anna.troubles if "400" not in said]


def test_what_was_run_differently_is_said_with_the_outcome_or_later(anna: Person, lab: Study) -> None:
    page = anna.open(lab, "/trials/4")
    page.get_by_text("It was run differently").click()
    page.get_by_label("stages").fill("7")
    page.get_by_label("yield (%)").fill("51")
    page.get_by_role("button", name="Tell", exact=True).click()
    expect(page.get_by_role("status")).to_have_text("Told 51 of trial 4.")
    anna.open(lab, "/trials/1")
    page.get_by_text("It was run differently").click()
    page.get_by_label("heat (°C)").fill("warm")
    page.get_by_label("Reason").fill("the dial was off")
    page.get_by_role("button", name="Amend").click()
    expect(page.get_by_role("alert")).to_have_text("heat: value must be a number (got 'warm').")
    page.get_by_label("heat (°C)").fill("33")
    page.get_by_label("solvent").select_option(label=BOLD)
    page.get_by_label("Standard deviation").fill("0.5")
    page.get_by_label("The right yield").fill("40")
    page.get_by_role("button", name="Amend").click()
    expect(page.get_by_role("status")).to_have_text("Trial 1 was put right.")
    anna.open(lab, "/trials/2")
    page.get_by_label("It ended as").select_option("lost")
    page.get_by_label("Reason").fill("it was another flask's")
    page.get_by_role("button", name="Amend").click()
    expect(page.get_by_role("status")).to_have_text("Trial 2 was put right.")
    now = Study.open(anna.server.store, lab.name or "")
    before = {trial.number: trial.params for trial in lab.trials()}
    assert now.trial(4).params == {**before[4], "stages": 7}
    assert now.trial(1).params == {**before[1], "heat": 33.0, "solvent": BOLD}
    assert (now.trial(1).outcome, now.trial(1).noise, now.trial(2).failure) == (40.0, 0.5, "lost")
    anna.troubles = [said for said in anna.troubles if "400" not in said]


def test_many_that_are_out_have_the_width_of_the_page(anna: Person, lab: Study) -> None:
    page = anna.open(lab)
    chart, out = page.locator(".progress"), page.locator(".out")
    assert out.bounding_box()["x"] > chart.bounding_box()["x"]  # beside it
    lab.ask(n=10)
    page.reload()
    assert out.bounding_box()["x"] == chart.bounding_box()["x"]
    assert out.bounding_box()["width"] > 1.5 * chart.bounding_box()["width"]
    rows = [row.bounding_box()["y"] for row in page.locator(".outs > li").all()]
    assert len(rows) == 13
    assert len(set(rows)) <= 5


def test_fields_of_a_row_are_in_line_whichever_has_a_hint(anna: Person, lab: Study) -> None:
    page = anna.open(lab, "/add")
    form = page.locator('form[data-verb="add"]')
    tops = [form.get_by_label(name).bounding_box()["y"] for name in ("heat (°C)", "stages", "solvent")]
    assert max(tops) - min(tops) < 1.5


@pytest.mark.parametrize("anna", [PHONE], indirect=True, ids=["phone"])
def test_on_a_phone_no_word_of_a_choice_is_broken(anna: Person, lab: Study) -> None:
    page = anna.open(lab, "/trials/3")
    for word in ("lost", "infeasible", "withdrawn"):
        lines = page.get_by_label(word).evaluate(
            """(input, word) => {
                const walk = document.createTreeWalker(input.closest("label"), NodeFilter.SHOW_TEXT);
                const range = document.createRange();
                while (!walk.nextNode().data.includes(word));
                const at = walk.currentNode.data.indexOf(word);
                range.setStart(walk.currentNode, at);
                range.setEnd(walk.currentNode, at + word.length);
                return range.getClientRects().length;
            }""",
            word,
        )
        assert lines == 1


def test_what_the_study_was_created_with_is_put_right(anna: Person, lab: Study) -> None:
    page = anna.open(lab, "/manage")
    card = page.get_by_role("region", name="Put it right")
    card.get_by_label("Range of heat (°C)").fill("20 to low")
    card.get_by_role("button", name="Amend").click()
    expect(page.get_by_role("alert")).to_contain_text("Reason must be given")
    card.get_by_label("Reason").fill("a better oven")
    card.get_by_role("button", name="Amend").click()
    expect(page.get_by_role("alert")).to_have_text("heat: high must be a number (got 'low').")
    card.get_by_label("Range of heat (°C)").fill("20-120")
    card.get_by_role("button", name="Amend").click()
    expect(page.get_by_role("alert")).to_have_text("heat: a range must be a pair (low, high) (got ['20-120']).")
    card.get_by_label("Range of heat (°C)").fill("20 to 120")
    card.get_by_label("Patience").fill("9d")
    card.get_by_label("Limits of outcomes").fill("-5, 100")
    card.get_by_role("button", name="Amend").click()
    expect(page.get_by_role("status")).to_have_text("The study was put right.")
    now = Study.open(anna.server.store, lab.name or "").settings
    assert now.space.parameters[0].high == 120
    assert now.objective.limits == (-5.0, 100.0)
    assert now.patience.m == 9 * 86400.0
    anna.troubles = [said for said in anna.troubles if "400" not in said]


def test_a_page_whose_session_is_over_asks_to_sign_in(browser: Any, server: Running, lab: Study) -> None:
    person = Person(browser, server)
    person.sign_in("visitor", "tell")
    page = person.open(lab)
    expect(page.locator("#live")).to_have_text("live")
    server.service.tokens.revoke("visitor")
    server.service.access.forget()
    lab.ask()
    expect(page).to_have_url(f"{server.url}/sign-in?next=%2Fstudies%2F{lab.name}", timeout=30_000)
    person.context.close()


def test_rename_and_delete_which_asks_for_the_name(anna: Person, lab: Study) -> None:
    page, name = anna.open(lab, "/manage"), lab.name or ""
    page.get_by_label("New name").fill("a/b")
    page.get_by_role("button", name="Rename it").click()
    expect(page.get_by_role("alert")).to_contain_text("Name must be")
    page.get_by_label("New name").fill("renamed")
    page.get_by_role("button", name="Rename it").click()
    expect(page.get_by_role("status")).to_have_text("The study is called renamed now.")
    page.get_by_role("link", name="renamed").click()
    page.get_by_role("link", name="Manage").click()
    card = page.get_by_role("region", name="Delete it")
    card.get_by_label("Its name").fill(name)
    card.get_by_label("Reason").fill("it was to learn the buttons")
    card.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("alert")).to_contain_text("renamed")
    assert "renamed" in studies(anna.server.store)
    card.get_by_label("Its name").fill("renamed")
    card.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("status")).to_have_text("The study renamed was deleted.")
    assert not {name, "renamed"} & set(studies(anna.server.store))
    anna.troubles = [said for said in anna.troubles if "400" not in said]


def test_a_table_is_tried_before_it_is_imported(anna: Person, lab: Study, tmp_path: Path) -> None:
    empty, wrong, right = (tmp_path / name for name in ("empty.csv", "wrong.csv", "right.csv"))
    empty.touch()
    wrong.write_text("heat,stages,solvent,outcome\n50,3,water,40\n999,3,wader,41\n")
    right.write_text("heat,stages,solvent,outcome,pan\n50,3,water,40,blue\n51,3,water,41,red\n")
    page = anna.open(lab, "/add")
    page.get_by_label("File").set_input_files(empty)
    page.get_by_role("button", name="Try it, without writing").click()
    expect(page.get_by_role("alert")).to_contain_text("empty.csv must begin with a line that names its columns")
    page.get_by_label("File").set_input_files(wrong)
    page.get_by_role("button", name="Try it, without writing").click()
    expect(page.get_by_role("alert")).to_contain_text("wrong.csv:3: ")
    page.get_by_label("File").set_input_files(right)
    page.get_by_role("button", name="Try it, without writing").click()
    expect(page.locator("#import-words")).to_contain_text(
        "Would import 2 rows: 2 new trials, 0 here before, 2 outcomes; kept as remarks: pan."
    )
    assert Study.open(anna.server.store, lab.name or "").rounds == 5
    page.get_by_role("button", name="Import it").click()
    expect(page.get_by_role("status")).to_contain_text("Imported 2 rows: 2 new trials")
    now = Study.open(anna.server.store, lab.name or "")
    assert [now.trial(number).outcome for number in (6, 7)] == [40.0, 41.0]
    assert [trial.asked_by for trial in now.trials()[5:]] == ["anna", "anna"]
    anna.troubles = [said for said in anna.troubles if "400" not in said]


def test_a_study_without_trials_has_no_empty_axes_and_charts_come_with_the_first(anna: Person) -> None:
    study = Study.create(anna.server.store, "fresh", space={"x": Real(0, 1)}, silence="unknown", seed=0)
    page = anna.open(study, "/belief")
    expect(page.get_by_text("Nothing was heard yet, so nothing is believed.")).to_be_visible()
    expect(page.locator(".key").first).to_be_hidden()
    page = anna.open(study)
    anna.see_charts()
    expect(page.locator(".progress .plot")).to_be_hidden()
    expect(page.locator(".waits .plot")).to_be_hidden()
    page.get_by_role("button", name="Ask for the next query").click()
    expect(page.locator(".progress .plot .main-svg").first).to_be_visible()
    expect(page.locator(".waits figcaption")).to_contain_text("1 out; the oldest, trial 1, for 1 round")


def test_what_a_token_may_not_do_is_not_shown(browser: Any, server: Running, lab: Study) -> None:
    person = Person(browser, server)
    person.sign_in("eve", "read")
    page = person.open(lab)
    expect(page.get_by_role("link", name="Trial 4")).to_be_visible()
    for name in ("Tell", "Ask for the next query"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    for name in ("Add, import", "Manage"):
        expect(page.get_by_role("link", name=name)).to_have_count(0)
    page = person.open(lab, "/manage")
    expect(page.get_by_text("This token may read, and that needs one that may own.")).to_be_visible()
    person.context.close()


def test_tags_in_words_of_the_users_are_text(anna: Person, lab: Study) -> None:
    lab.add({"heat": 30.0, "stages": 2, "solvent": SCRIPT}, 20.0, by=BOLD, remark=SCRIPT)
    lab.add({"heat": 35.0, "stages": 2, "solvent": BOLD}, 22.0, by=BOLD)
    for path in PAGES:
        page = anna.open(lab, path)
        anna.see_charts()
        assert "mine" not in page.title()
        assert page.locator("main b", has_text="bold").count() == page.locator("main .lines b", has_text=BOLD).count()
    page = anna.open(lab, "/belief")
    anna.see_charts()
    labels = page.locator(".slices figure").nth(2).locator("text").all_text_contents()
    assert BOLD in labels
    assert any(label.startswith("<script>") for label in labels)
    page = anna.open(lab, "/trials/6")
    expect(page.locator(".facts-list")).to_contain_text(SCRIPT)


def test_the_heat_map_shows_the_pair_that_is_chosen(anna: Person, lab: Study) -> None:
    page = anna.open(lab, "/belief")
    anna.see_charts()
    expect(page.locator("[data-show=sentence]")).to_contain_text("Recommended: heat = ")
    page.get_by_label("across").select_option("heat")
    page.get_by_label("up").select_option("stages")
    expect(page.locator("#pair figcaption")).to_contain_text("Over heat (°C) and stages the mean goes from")
    page.get_by_label("across").select_option("stages")
    expect(page.locator("#pair figcaption")).to_have_text("Choose two different ones.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("wide", [360, 1280])
def test_axe_finds_nothing_serious_and_nothing_stands_over_the_edge(
    browser: Any, server: Running, lab: Study, scheme: str, wide: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    person = Person(browser, server, color_scheme=scheme, viewport={"width": wide, "height": 900}, bypass_csp=True)
    person.page.goto(f"{server.url}/sign-in")
    found = check_page(axe, person.page)
    person.sign_in()
    found += check_page(axe, person.page)
    for path in PAGES:
        person.open(lab, path)
        person.see_charts()
        found += check_page(axe, person.page)
    assert found == []
    person.context.close()


def check_page(axe: Any, page: Any) -> list[str]:
    """What axe finds serious or critical, and whether one has to scroll sideways."""
    results = axe.run(page).response["violations"]
    bad = [
        f"{page.url}: {each['id']}: {[node['html'][:120] for node in each['nodes'][:3]]}"
        for each in results
        if each["impact"] in ("serious", "critical")
    ]
    wide = page.evaluate("document.documentElement.scrollWidth")
    return bad + ([f"{page.url} is {wide} wide"] if wide > page.viewport_size["width"] else [])


def test_a_page_is_read_before_plotly_is_there(browser: Any, server: Running, lab: Study) -> None:
    person = Person(browser, server)
    person.sign_in()
    held = threading.Event()
    person.page.route("**/plotly.js", lambda route: (held.set(), route.abort()))
    page = person.open(lab)
    expect(page.locator(".tile", has_text="Best so far")).to_contain_text("42 %")
    expect(page.locator(".progress figcaption")).to_contain_text("the best is 42 %, of trial 2")
    page.get_by_label("yield (%) of trial 5").fill("50")
    page.get_by_label("yield (%) of trial 5").press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Told 50 of trial 5")
    assert held.is_set()
    person.context.close()


def test_the_belief_is_that_of_the_context_that_is_chosen(anna: Person) -> None:
    study = Study.create(
        anna.server.store,
        "contextual",
        space={"x": Real(0, 1)},
        context={"who": Choice("f", "m"), "age": Real(0, 9)},
        silence="unknown",
        seed=3,
    )
    for i in range(8):
        x, who = i / 8, "fm"[i % 2]
        study.add({"x": x}, x if who == "f" else 1 - x, context={"who": who, "age": 4.5})
    page = anna.open(study, "/belief")
    anna.see_charts()
    said = page.locator("[data-show=sentence]")
    expect(said).to_contain_text("in the context who = m, age = 4.5")
    page.get_by_label("who").select_option("f")
    page.get_by_role("button", name="Show in this context").click()
    expect(said).to_contain_text("in the context who = f, age = 4.5")
    page.get_by_label("age").fill("12")
    page.get_by_label("age").press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Context age: value must be between 0.0 and 9.0 (got 12).")
    expect(page.get_by_label("age")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("age")).to_be_focused()
    page.get_by_label("age").fill("4")
    page.get_by_label("age").press("Enter")
    expect(said).to_contain_text("in the context who = f, age = 4")
    expect(page.get_by_role("alert")).to_have_count(0)
    anna.open(study)
    page.get_by_text("in which context").click()
    page.get_by_label("who").select_option("f")
    page.get_by_role("button", name="Ask for the next query").click()
    expect(page.get_by_role("status")).to_contain_text("who f, age 4.5")
    anna.troubles = [trouble for trouble in anna.troubles if "400" not in trouble]
