"""Campaigns whose only news is a conversion, late or never: our default beside what a user would pick instead.

    python -m benchmarks.conversions [--quick] [--worlds ...] [--entrants ...] [--workers N]
        [--executor MODULE:NAME] [--out FILE]

worlds.py     the campaigns, as values
truth.py      the conversion rates of a campaign's seed, which the entrants never see
visitors.py   who comes when, and the luck and the delay of each
peers/        one file per kind of entrant; ours.py is belated's default
entrants.py   who takes part, and what a kept run of them is good for
campaign.py   one entrant in one world for one seed, hour by hour
kept.py       the measured CSV, which is the cache as well
standings.py  shares, mean ranks, and ours against the best of the others
report.py     the tables; picture.py the picture
"""
