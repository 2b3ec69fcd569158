"""Conversions: which offer to show to whom, when a shopper buys within a week or is never heard of again.

It shows contexts (who is shopping), conversions (`outcomes="conversion"`: told when somebody buys, never otherwise), a
window of seven days, silence that is judged by the delays (`silence="fading"`), rates with their intervals, and how
much more is sold than by showing offers at random.

The shop and its shoppers are made up, and so is its clock; a real shop asks at every visit, tells at every purchase,
and leaves out `clock=`.

    python examples/conversions.py
"""

import math

import numpy as np

import belated

DAY = 86400.0
VISITS = 300
EVERY = DAY / 20  # twenty visits a day
OFFERS = [
    {"discount": discount, "picture": picture} for discount in (0, 5, 10, 15, 20) for picture in ("people", "product")
]
SEGMENTS = ["new", "regular"]


def buying_rate(params, context) -> float:
    """How many of a hundred shoppers buy, as a share. Nobody in the shop knows this."""
    best = {"new": 15, "regular": 5}[context["segment"]]
    liked = {"new": "people", "regular": "product"}[context["segment"]]
    rate = 0.5 * math.exp(-(((params["discount"] - best) / 6) ** 2))
    return rate if params["picture"] == liked else 0.4 * rate


def run_shop(study, clock, choose) -> tuple[int, float]:
    """All visits: how many bought, and the mean buying rate of the offers shown in the last third."""
    purchases = []  # (when, number) of those who will buy
    shown = []
    for visit in range(VISITS):
        clock.now = visit * EVERY
        for when, number in [purchase for purchase in purchases if purchase[0] <= clock.now]:
            purchases.remove((when, number))
            study.tell(number, 1.0, at=when)
        rng = np.random.default_rng([11, visit])  # the same shopper, whatever is shown
        context = {"segment": SEGMENTS[int(rng.integers(2))]}
        trial = choose(study, context, visit)
        shown.append(buying_rate(trial.params, context))
        if rng.random() < shown[-1]:
            purchases.append((clock.now + rng.exponential(1.5 * DAY), trial.number))
    bought = sum(trial.outcome is not None for trial in study.trials()) + len(purchases)
    return bought, float(np.mean(shown[-VISITS // 3 :]))


def choose_well(study, context, visit):
    return study.ask(context=context)


def choose_at_random(study, context, visit):
    offer = OFFERS[int(np.random.default_rng([12, visit]).integers(len(OFFERS)))]
    return study.add(offer, context=context)


class Clock:
    """Seconds since the shop opened."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def open_shop(clock):
    return belated.Study.create(
        space=belated.Points(OFFERS),
        context={"segment": belated.Choice(*SEGMENTS)},
        outcomes="conversion",  # a purchase is told; that there is none, never
        silence="fading",  # a visit of an hour ago may still become a purchase, one of last week hardly
        patience="7d",  # what is bought later does not count
        seed=0,
        clock=clock,
    )


def main() -> None:
    random_clock, clock = Clock(), Clock()
    random_bought, random_rate = run_shop(open_shop(random_clock), random_clock, choose_at_random)
    study = open_shop(clock)
    bought, rate = run_shop(study, clock, choose_well)

    print(f"of {VISITS} visitors bought              {random_bought} at random, {bought} with belated")
    print(f"buying rate at the end           {random_rate:.0%} at random, {rate:.0%} with belated")
    for segment in SEGMENTS:
        context = {"segment": segment}
        found = study.recommend(context=context)
        best = found.params
        possible = max(buying_rate(offer, context) for offer in OFFERS)
        print(
            f"for {segment + ' shoppers:':18} {best['discount']} % off, with a picture of {best['picture']}: "
            f"believed rate {found.value:.0%} ({found.low:.0%} to {found.high:.0%}), in truth "
            f"{buying_rate(best, context):.0%}; the best possible is {possible:.0%}"
        )


if __name__ == "__main__":
    main()
