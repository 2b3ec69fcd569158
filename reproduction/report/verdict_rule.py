"""The rule for verdicts, in words, for the report; verdicts.py and pooling.py apply it."""

from __future__ import annotations

from reproduction.report.document import Strong, Text

PAIRS = (
    "The rule was written down before the runs that it judges, but for those that the appendix calls older. Within a "
    "panel the runs of a seed are a pair: they have the same objective, the same noise and, where the delays have the "
    "same law, the same delays."
)
RULE: tuple[Text, ...] = (
    (
        "What is compared: in a panel of simple regret, the average of a run's curve over iterations 10 to T, the last "
        "one; in a panel of cumulative regret, its value at T. One number per run."
    ),
    (
        "A comparison: the differences of the pairs, first minus second, so that negative favours the first; their "
        "mean with its 95 % interval (Student's t with n − 1 degrees of freedom); and, as “detectable”, the smallest "
        "true difference that so many pairs detect with 80 % power, (t₀.₉₇₅ + t₀.₈) · sd/√n."
    ),
    (
        "A claim that one curve is less than others, k comparisons: ",
        Strong("supported"),
        " if every 95 % interval lies below 0 (all must, so no correction is needed: an intersection-union test); ",
        Strong("contradicted"),
        " if some interval at level 1 − 0.05/k lies above 0 (one of k suffices, hence Bonferroni's correction); ",
        Strong("unresolved"),
        " otherwise.",
    ),
    (
        "A claim that two curves are alike: supported if the 95 % interval lies within ±10 % of the mean of the two "
        "curves; contradicted if the interval lies wholly outside of ±10 %; unresolved otherwise. A claim with parts "
        "of both kinds is supported if all parts are, and contradicted if any is, again at level 1 − 0.05/k."
    ),
    (
        "With fewer than 5 pairs a comparison is unresolved, and its line says so; where curves are missing a claim is "
        "not run. Nothing is corrected across panels."
    ),
    (
        "Pooled over panels: SDF against ignoring what is pending (GP-UCB, asy-TS), and SDF against hallucinating it "
        "(GP-BUCB, GP-BTS), in these groups: synthetic (Figs. 1c, 1d, 5a, 5b), SVM (2a–d), CNN (2e–h), LR (3a–d), all "
        "16 of these, multi-task (4a, 4b), non-stationary (4c, 4d). The effect in one panel and seed is the difference "
        "divided by the baseline's mean over the panel's seeds. Of every seed that all panels of the group have, the "
        "effect is averaged over the panels: the panels of a seed share worlds, so seeds are the units. Mean, "
        "interval and verdict over the seeds are as for one comparison, k = 1."
    ),
    (
        "A check on the intervals stands in the appendix and decides nothing: the sign-flip test of the mean "
        "difference, Holm-corrected within the claim, and Wilcoxon's signed-rank test. Where interval and sign-flip "
        "test disagree about 0, the appendix marks it."
    ),
)
