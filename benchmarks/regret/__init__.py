"""A test bed: public tasks with late outcomes, our algorithms and the installed peers in the very same world.

    python -m benchmarks.regret [--quick] [--tasks ...] [--entrants ...] [--seeds N] [--workers N]
        [--executor MODULE:NAME] [--out FILE]

tasks.py      the public tasks, in four families
peers/        one file per peer, at most 60 lines; ours.py is all of belated's own
entrants.py   who takes part: the files in peers/, and whether what they need is installed
world.py      one entrant on one task for one seed
kept.py       the measured CSV, which is the cache as well
ranks.py      mean ranks, standard errors, one-sided bounds
report.py     the tables; picture.py the picture
"""
