"""The pictures of the dashboard in the README and the documentation: `python -m website.screenshots [FOLDER]`.

It makes a store with some studies, serves it, and looks at it with chromium (Debian: apt install chromium)."""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from belated import Choice, Integer, Real, Study
from belated.service.app import make_app
from belated.service.core import Service
from belated.service.run import listen

DAY = 86400.0
PICTURES = Path(__file__).resolve().parents[1] / "docs" / "images"
KEPT = {"dashboard-desk.png": ("light", 1280, 960), "dashboard-phone.png": ("dark", 390, 844)}


def make_studies(url: str, now: float) -> None:
    """A lab's week, a tuning run that is closed, and a study that was just made."""
    make_lab(url, now)
    tuning = Study.create(url, "tuning", about="Learning rate and depth of the ranking model.", seed=2, goal="minimize",
                          space={"rate": Real(1e-4, 1e-1, log=True), "depth": Integer(2, 9)}, silence="unknown",
                          outcome_name="loss")  # fmt: skip
    for trial in tuning.ask(n=6):
        rate, depth = math.log10(trial.params["rate"]), trial.params["depth"]
        tuning.tell(trial, 0.3 + 0.08 * abs(rate + 2) + 0.01 * abs(depth - 6))
    tuning.close(by="anna")
    Study.create(url, "enzyme", about="Which buffer keeps it alive longest?", unit="h", outcome_name="half-life",
                 seed=1, space={"pH": Real(5.5, 9), "salt": Real(0, 200, unit="mM")}, silence="waiting", patience="5d",
                 floor=0.0).ask(n=3)  # fmt: skip


def make_lab(url: str, now: float) -> Study:
    """Forty trials over four coordinates that come back after days; two are out for longer than patience."""
    clock, waiting, start = [now - 16 * DAY], list[tuple[float, Any]](), now - 16 * DAY
    study = Study.create(
        url,
        "catalyst",
        about="Which bath extracts most? For plant 2.",
        outcome_name="yield",
        unit="%",
        space={
            "temperature": Real(20, 90, unit="°C"),
            "rate": Real(2e-3, 5e-2, log=True, unit="1/s"),
            "stages": Integer(1, 8),
            "solvent": Choice("water", "ethanol", "2-MeTHF"),
        },
        silence="unknown",
        patience="6d",
        seed=1,
        clock=lambda: clock[0],
    )

    def extract(params: Mapping[str, Any]) -> float:
        bend = ((params["temperature"] - 63) / 7) ** 2 + 3 * abs(params["stages"] - 5)
        slow = 14 * abs(math.log10(params["rate"] / 0.02))
        return float(round(max(4.0, 88 - bend - slow + 5 * (params["solvent"] == "ethanol")), 1))

    for i in range(40):
        clock[0] = start + i * 0.395 * DAY
        trial = study.ask(by="robot")
        waiting.append((clock[0] + (0.8 + (7 * i % 5) * 0.55) * DAY, trial))
        for at, due in [each for each in waiting if each[0] <= clock[0]]:
            waiting.remove((at, due))
            if due.number == 11:
                study.fail(due, "infeasible", reason="it boils over", by="ben")
            elif due.number not in (21, 25):
                study.tell(due, extract(due.params), at=at, by=("anna", "ben")[due.number % 2])
    study.amend(4, extract(study.trial(4).params), reason="digits swapped in the notebook", by="anna")
    return study


@contextmanager
def serve_studies(url: str) -> Iterator[str]:
    """The address of a server that is open on this machine, until the end of the block."""
    service = Service(url, workers=1, open_to_all=True)
    sock = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(make_app(service), log_level="critical", timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, args=([sock],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        service.streams.stop()
        server.should_exit = True
        thread.join(20)


def take_picture(browser: Any, address: str, path: Path, scheme: str, wide: int, high: int) -> None:
    """What a page shows when its charts are there."""
    page = browser.new_page(viewport={"width": wide, "height": high}, color_scheme=scheme, reduced_motion="reduce")
    page.goto(address)
    page.wait_for_selector("[data-chart]:not([data-drawn])", state="detached")
    page.wait_for_timeout(400)
    page.screenshot(path=path)
    page.close()


def main(folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as place, sync_playwright() as play:
        url = f"sqlite:///{place}/lab.db"
        make_studies(url, time.time())
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with serve_studies(url) as address:
            for name, (scheme, wide, high) in KEPT.items():
                take_picture(browser, f"{address}/studies/catalyst", folder / name, scheme, wide, high)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
