"""How verdicts are reached, and what was chosen where the paper is silent or says two things: in words."""

from __future__ import annotations

from reproduction.report.document import Code, Emphasis, Text
from reproduction.report.verdicts import FIRST_COUNTED, LEVEL

PAIRS = (
    "These rules were fixed before any of the runs was made. Within a panel the runs of a seed are a pair: they have "
    "the same objective, the same noise and, where the delays have the same law, the same delays."
)
RULES: tuple[Text, ...] = (
    (
        "What is compared: in a panel of simple regret, the average of a run's curve over iterations "
        f"{FIRST_COUNTED} to T, the last one; in a panel of cumulative regret, its value at T. Simple regret at T "
        "stands beside it and decides nothing."
    ),
    (
        "The test: the exact sign-flip test of the mean paired difference, two-sided, with all 2ⁿ choices of signs "
        "counted. Wilcoxon's signed-rank test, exact as well, stands beside it and decides nothing."
    ),
    (
        "Claims that one curve is below another are Holm-corrected together, within the panel and the reading. Nothing "
        "is corrected across panels: of twenty panels without any difference, one is expected to seem to have one. A "
        "claim that two curves are alike is tested without a correction, which would only make it easier to pass; and "
        "not to be told apart by so few runs is less than to be alike."
    ),
    (
        Emphasis("Holds"),
        f": every mean is in the claimed order with corrected p < {LEVEL}, and no two that should be alike differ. ",
        Emphasis("Holds in mean only"),
        ": the same order of means, but not every p is that small; the line says which. ",
        Emphasis("Does not hold here"),
        ": anything else. Where so few were run that nothing could be significant, it says that "
        "alone: a later addition, which touches no verdict of ten runs.",
    ),
    (
        "Difference: the first minus the second, so that negative favours the first. Effect: the mean difference in "
        "standard deviations of the differences. Won, tied, lost: pairs in which the first is less, equal, greater. "
        f"Bold are p-values below {LEVEL}, of those that decide."
    ),
    (
        "± and error bars are standard errors over runs, s/√n with n − 1 in s. The authors' figures have n in s; their "
        "bands and numbers here are computed anew from their runs, as ours are. Their runs are paired by number: those "
        "of a number share the five initial queries, not the delays."
    ),
)
CHOICES: tuple[Text, ...] = (
    (
        "When an outcome is heard. The words of Section 3 and its formula differ by one round; the formula is the "
        "definition here: the outcome of query s can be used from query s + max(1, d) on. The authors' released "
        "results fit it.",
    ),
    (
        "Fixed delays. Every delay is 10 and m is 10, which is Section 4's choice and the released program's (m = 2μ "
        "would be 20). Section 4 counts m in words, so the m = B − 1 of a batch of size B is a patience of B here, and "
        "the panels with fixed delays have ten queries in flight.",
    ),
    "The baselines know no m: what they have not heard stays pending until it is heard, however late.",
    (
        "Simple regret after n queries counts what can be used to choose query n + 1: in time for the SDF pair, heard "
        "at all for the baselines. While nothing has been heard it is the best value minus the floor. The column "
        "“late counted” gives the SDF pair's late outcomes, too.",
    ),
    "ν sums σ over the queries of the last m rounds, heard or not. β is 1, as in all of the paper's experiments.",
    (
        "Hyperparameters are fitted every ten queries, to what has been heard, never to the zeros or beliefs that "
        "stand in for the rest; one lengthscale per coordinate; λ is fitted with them.",
    ),
    (
        "Five space-filling queries come first, as in the released program; iteration 1 is after them. Their outcomes "
        "are delayed, too.",
    ),
    "The synthetic outcomes have normal noise of standard deviation 0.01; the paper names none.",
    (
        "SVM, CNN and LR: the best accuracy is taken to be 1, so that simple regret is the validation error of the "
        "best configuration heard.",
    ),
    (
        "Scales. All parameters are searched on linear scales, as in the released SVM program, also those whose range "
        "spans six powers of ten: of the CNN's square of learning rate and decay about 5 % is any good.",
    ),
    (
        "Horizons. 100 iterations, as in the released runs; a context is repeated 30 times, which makes 1500 and 600 "
        "rounds."
    ),
    "Fig. 1a has μ = 5, 10, 20 and 30, Fig. 1b m = 5, 10, 20 and 40; the paper names 10, 20 and 40 in its text.",
    (
        "SVM. Unscaled features, a stratified 70/30 split with random_state 0, as released. Nearly all of the square "
        "is flat at the majority rate.",
    ),
    (
        "CNN. The 8 nodes are followed by a linear layer to the ten digits and cross-entropy; three epochs; pixels in "
        "[0, 1]; “decay” is that of the learning rate at step k, η / (1 + decay · k). The objective is the mean "
        "accuracy of three trainings, tabulated on 5 × 32 × 24 points and interpolated linearly in batch size and in "
        "the logarithms of the other two.",
    ),
    (
        "LR. Features standardised by the training part, 20 epochs of plain minibatch gradient steps, the same decay; "
        "the start and the shuffles are the same for every configuration.",
    ),
    (
        "Multi-task. Tasks in the table's order, accuracy as it is, regret against the best of the 288 configurations."
        " Two pairs of tasks have the same six meta-features: the first one of the second task of a pair is moved by "
        "1e-9, so that the world can tell them apart and the kernel cannot.",
    ),
    (
        "Non-stationary. Data set j is the first (j + 1)/20 of the patients in the file's order, with a 70/30 split of"
        " its own; the context is j. The best x of a context is the best of 3,849 points: 20 per decade of C and of "
        "gamma up to 0.01, C evenly at the least gamma, and the bounds.",
    ),
    (
        "Beyond the paper. LDA: perplexity as it is, minimised; a query takes as long as it is recorded to have taken."
        " GPU: log2 of milliseconds, so that a regret of 1 is twice as slow; the six GPUs in turn; a configuration "
        "that failed is infeasible and counts as the slowest time of any GPU. Dengue: the delays alone are from life, "
        "the functions are those of Fig. 1.",
    ),
    (
        "Two readings. ",
        Code("text"),
        " is what the paper says; ",
        Code("released"),
        " is what is known of the authors' program, bug and all, and is run for the four SVM panels that it covers. It "
        "agrees with their runs where we test it (reproduction/README.md says where, and where not). Unless "
        "something else is said, ",
        Emphasis("text"),
        " is meant.",
    ),
)
