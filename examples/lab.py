"""A lab: four syntheses a week, whose yields come back days or weeks later and are typed in on Mondays.

It shows a study that is kept in a SQLite file and opened again every week, a patience of three weeks by the calendar,
results with the day on which they really came, a flask that broke, a synthesis that cannot be done, a typing error put
right, and at the end what the study has learned of the delays.

The chemistry and the calendar are made up; a real lab leaves out `clock=` and types its results in.

    python examples/lab.py
"""

import math
import tempfile
from datetime import UTC, datetime, timedelta

import numpy as np

import belated

BOILING = {"ethanol": 78, "water": 100}  # °C
PLACES = 4  # flasks on the bench
WEEKS = 12


class Calendar:
    """The date of the story. As a clock it gives seconds, as `time.time` does."""

    def __init__(self) -> None:
        self.today = datetime(2024, 1, 1, 9, tzinfo=UTC)  # a Monday

    def __call__(self) -> float:
        return self.today.timestamp()


def measure_yield(params, rng):
    """What the analysis says in the end, in percent."""
    best = {"ethanol": 62, "water": 85}[params["solvent"]]
    heat = math.exp(-(((params["temperature"] - best) / 15) ** 2))
    time = math.exp(-((math.log(params["hours"] / 8)) ** 2))
    return round(80 * heat * time + 2 * rng.standard_normal(), 1)


def main() -> None:
    calendar = Calendar()
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/lab.db"
        belated.Study.create(
            url,
            "synthesis",
            space={
                "temperature": belated.Real(20, 100),
                "hours": belated.Real(1, 48, log=True),
                "solvent": belated.Choice("ethanol", "water"),
            },
            goal="maximize",
            floor=0.0,  # no yield is below 0
            silence="unknown",  # the analysis is slow, whatever the yield
            patience="21d",  # what has not come by then is no longer waited for ...
            late="use",  # ... and used all the same if it does come
            seed=0,
            clock=calendar,
        ).disconnect()

        in_analysis = []  # (the day of the result, the trial's number, the yield)
        for week in range(WEEKS):
            # A new process every Monday: all that is known is in the file.
            with belated.Study.open(url, "synthesis", clock=calendar) as study:
                print(f"{calendar.today:%d %b}", type_in(study, in_analysis, calendar.today))
                for trial in study.ask(n=PLACES):
                    # A real bench has no seed; ours gives every flask its own luck, the same in every run.
                    rng = np.random.default_rng([7, trial.number])
                    if trial.params["temperature"] > BOILING[trial.params["solvent"]]:
                        study.fail(trial, "infeasible")  # the query is at fault: queries like it are avoided
                    elif trial.number == 6:
                        study.fail(trial, "lost")  # the flask broke: that says nothing about the query
                    else:
                        days = rng.lognormal(math.log(8), 0.6)
                        arrives = calendar.today + timedelta(days=days)
                        in_analysis.append((arrives, trial.number, measure_yield(trial.params, rng)))
                if week == 4:
                    put_right(study)
            calendar.today += timedelta(weeks=1)

        with belated.Study.open(url, "synthesis", clock=calendar) as study:
            print(f"{calendar.today:%d %b}", type_in(study, in_analysis, calendar.today))
            report(study)


def type_in(study, in_analysis, today) -> str:
    """Tell the results that have come since last Monday, each with the day on which it came."""
    due = sorted(result for result in in_analysis if result[0] <= today)
    for result in due:
        in_analysis.remove(result)
        arrived, number, outcome = result
        typed = outcome / 10 if number == 2 else outcome  # once somebody slips by a decimal point
        study.tell(number, typed, at=arrived)
    numbers = ", ".join(str(number) for _, number, _ in due)
    return f"results of flasks {numbers}; {len(in_analysis)} in analysis" if due else "no results yet"


def put_right(study) -> None:
    """Flask 2 was typed in with the point in the wrong place."""
    wrong = study.trial(2).outcome
    study.amend(2, wrong * 10, reason="the decimal point was in the wrong place")
    print(f"       flask 2 is put right: {wrong * 10:.1f} % and not {wrong:.2f} %")


def report(study) -> None:
    statuses = [trial.status for trial in study.trials()]
    print()
    print(", ".join(f"{statuses.count(status)} {status}" for status in sorted(set(statuses))))
    best = study.best()
    print(f"best flask: number {best.trial.number}, {best.value:.1f} %, {describe(best.params)}")
    advised = study.recommend()
    print(
        f"recommended: {describe(advised.params)}, expected {advised.value:.0f} % (90 %: {advised.low:.0f} to "
        f"{advised.high:.0f} %)"
    )
    print(f"\n{study.delays()}\n\n{study.advise()}")


def describe(params) -> str:
    return f"{params['temperature']:.0f} °C for {params['hours']:.1f} h in {params['solvent']}"


if __name__ == "__main__":
    main()
