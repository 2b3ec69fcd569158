"""The readings of the paper, what it says of its experiments, and what was chosen where it does not: in words."""

from __future__ import annotations

from reproduction.report.document import Code, Text

METHODS = (
    "The methods differ in what an outcome counts as while it is pending. The paper's own, GP-UCB-SDF and GP-TS-SDF "
    "(the SDF pair), count it as 0, the least value, until it is heard, and for good after m rounds. Of the baselines, "
    "GP-UCB and asy-TS ignore it, and GP-BUCB and GP-BTS hallucinate it: the value that they expect stands in for it. "
    "m is the patience, μ the mean of the delays, both in rounds; the smaller the regret, the better."
)
READINGS: tuple[Text, ...] = (
    (
        Code("text"),
        ": hyperparameters are fitted to what each method's own belief is made of (Appendix C with Eq. (1)): the "
        "censored outcomes, zeros included, for the SDF pair; hallucinated outcomes for GP-BUCB and GP-BTS; what was "
        "heard for GP-UCB and asy-TS.",
    ),
    (Code("heard"), ": the same, but every method is fitted to what was heard, and to nothing that stands in for it."),
    (
        Code("released"),
        ": what the authors' program does, its start and its slips included. It was released for the SVM panels; in "
        "the others its rules are carried over: contexts are further coordinates with the same lengthscale, a list is "
        "searched as a whole, whole numbers are rounded.",
    ),
)
SAID: tuple[Text, ...] = (
    (
        "For all methods: the SE kernel, β = 1, and hyperparameters that maximise the marginal likelihood after every "
        "ten iterations (Appendix C)."
    ),
    (
        "Patience m = 2μ for stochastic delays (Section 6), μ = 10; with contexts μ = 3 and m = 6, and 30 rounds on "
        "every context, which makes 1500 and 600 rounds."
    ),
    "Simple regret counts outcomes that have been heard, and no pending ones (Appendix C).",
    (
        "The functions, data sets, ranges of parameters, the network's layers, and the 288 configurations and first "
        "six meta-features of 50 tasks (Appendix C)."
    ),
)
OPEN: tuple[Text, ...] = (
    (
        "Which outcomes the marginal likelihood is of. “All methods” and Eq. (1), whose y is the censored one, suggest "
        "each method's own; the paper does not say so. The readings text and heard differ in this alone."
    ),
    (
        "One lengthscale per coordinate or one for all, bounds and priors, whether λ is fitted. Here: one per "
        "coordinate, λ is fitted; the released program has one for all."
    ),
    (
        "How many outcomes a fit looks at. Here up to 300, and of more 300 that are spread evenly over the order of "
        "asking: this concerns Figure 4 alone, in every reading."
    ),
    (
        "How queries start. Here: five space-filling ones, whose outcomes are delayed too, and iteration 1 is after "
        "them, as in the released program. With contexts they are the first five rounds and count."
    ),
    (
        "When an outcome is heard. The words of Section 3 and its formula differ by one round; the formula is the "
        "definition here: the outcome of query s can be used from query s + max(1, d) on."
    ),
    (
        "Fixed delays: every delay is 10 (Section 6) and m is 10, the choice of Section 4 and of the released program; "
        "2μ would be 20."
    ),
    (
        "What the baselines know of m. Here nothing: what they have not heard stays pending, however late. So simple "
        "regret counts what was heard in time for the SDF pair, and what was heard at all for the baselines; while "
        "nothing has been heard it is the best value minus the floor."
    ),
    (
        "The scales of parameters. Here all are linear, as in the released SVM program, also those whose range spans "
        "six powers of ten: of the CNN's square of learning rate and decay about 5 % is any good."
    ),
    (
        "With contexts: hyperparameters, scales and kernel are not named, nor are the order of the 50 tasks and "
        "how regret is counted. Here: a kernel on contexts times a kernel on queries, meta-features in [0, 1] and the "
        "table's own columns, the table's order, accuracy as it is, regret against the best of the 288 configurations. "
        "The table of Figure 4 above shows how much of it matters."
    ),
    (
        "The growing data set j is the first (j + 1)/20 of the patients in the file's order, with a 70/30 split of its "
        "own; the best x of a context is the best of 3,849 points."
    ),
    (
        "Noise, horizons, numbers of runs. Here: normal noise of standard deviation 0.01 on the synthetic functions, "
        "100 iterations as in the released runs, and runs as the tables say. Fig. 1a has μ = 5, 10, 20 and 30, Fig. 1b "
        "m = 5, 10, 20 and 40; the paper names 10, 20 and 40 in its text."
    ),
    (
        "SVM: unscaled features, a stratified split with random_state 0, as released; nearly all of the square is flat "
        "at the majority rate. SVM, CNN and LR: the best accuracy is taken to be 1, so that simple regret is the "
        "validation error of the best configuration heard."
    ),
    (
        "CNN: a linear layer to the ten digits, cross-entropy, three epochs, learning rate η / (1 + decay · k) at step "
        "k; the mean accuracy of three trainings, tabulated on 5 × 32 × 24 points and interpolated. LR: standardised "
        "features, 20 epochs of minibatch gradient steps, the same decay; start and shuffles are the same for every "
        "configuration."
    ),
    (
        "Two pairs of the 50 tasks have the same six meta-features: the first feature of the second task is moved by "
        "1e-9, so that the world can tell them apart and the kernel cannot."
    ),
)
BEYOND_CHOICES = (
    "LDA: perplexity as it is, minimised; a query takes as long as it is recorded to have taken. GPU: log2 of "
    "milliseconds, so that a regret of 1 is twice as slow; the six GPUs in turn; a configuration that failed is "
    "infeasible and counts as the slowest time of any GPU. Dengue: the delays alone are from life, the functions are "
    "those of Fig. 1."
)
