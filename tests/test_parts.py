"""Own parts have names: stored, read back, replayed; what is missing or wrong is said with the name."""

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated
from belated import algorithms, delays, kernels, policies, silence
from belated.errors import InvalidInput, Unregistered
from belated.parts import REGISTERED, find_part, list_parts, read_part, write_part
from belated.silence import Filled
from belated.validation import Fieldless

ROOT = Path(__file__).resolve().parents[1]
SPACE = {"x": belated.Real(0, 1), "kind": belated.Choice("a", "b")}


@dataclass(frozen=True)
class Average:
    """A pending outcome counts as the average of what was heard, less something."""

    less: float = 0.0

    name = "average"
    fills = "the average"
    forgets = True
    uses_floor = False

    def fill(self, h: Any, floor: float, heard: Any) -> Filled:
        rows = np.flatnonzero(h.known | h.pending)
        average = h.y[h.known].mean() - self.less if h.known.any() else floor
        return Filled(rows, np.where(h.known, h.y, average)[rows])


class Cautious(Fieldless):
    def scores(self, belief: Any, Q: Any, nu: float, rng: Any) -> Any:
        return policies.UCB().scores(belief, Q, -nu, rng)

    def surface(self, belief: Any, nu: float, rng: Any) -> Any:
        return policies.UCB().surface(belief, -nu, rng)


@dataclass(frozen=True)
class Rational(kernels.Radial):
    """k(x, z) = variance / (1 + r²/4)²."""

    def shape(self, r2: Any) -> Any:
        return (1.0 + r2 / 4.0) ** -2

    def shape_and_slope(self, r2: Any) -> Any:
        return (1.0 + r2 / 4.0) ** -2, -0.5 * (1.0 + r2 / 4.0) ** -3

    def frequencies(self, rng: Any, count: int, D: int) -> Any:
        scale = np.sqrt(rng.gamma(2.0, 0.5, (count, 1)))
        return scale * rng.standard_normal((count, D)) / np.asarray(self.lengthscale)


@dataclass(frozen=True)
class Neighbours:
    """The mean of the nearest outcomes, and the distance to them."""

    k: int = 2

    def fit(self, X: Any, y: Any) -> Any:
        return FittedNeighbours(self.k, X, y)


@dataclass(frozen=True, eq=False)
class FittedNeighbours:
    k: int
    X: Any
    y: Any

    def near(self, Q: Any) -> Any:
        far = np.linalg.norm(Q[:, None] - self.X, axis=2)
        return far, np.argsort(far, axis=1, kind="stable")[:, : self.k]

    def mean(self, Q: Any) -> Any:
        return self.y[self.near(Q)[1]].mean(axis=1)

    def std(self, Q: Any) -> Any:
        return self.near(Q)[0].min(axis=1)


@dataclass(frozen=True)
class Weekly:
    """A share of a tenth comes on each of the first days."""

    days: int = 5

    def rho(self, m: float) -> float:
        return min(int(min(m, 99)), self.days) / 10


PARTS: list[tuple[Any, str, type]] = [
    ("delay", "weekly", Weekly),
    ("silence", "average", Average),
    ("policy", "cautious", Cautious),
    ("kernel", "Rational", Rational),
    ("surrogate", "neighbours", Neighbours),
]


@pytest.fixture(autouse=True)
def registry() -> None:
    for kind, name, part in PARTS:
        belated.register(kind, name, part)


def forget() -> None:
    for kind, name, _ in PARTS:
        del REGISTERED[kind, name]


SETTINGS: dict[str, dict[str, Any]] = {
    "silence": {"silence": Average(0.5)},
    "delay": {"silence": silence.Fading(law=Weekly(7))},
    "one of our delays": {"silence": silence.Fading(law=delays.Sometimes(delays.Poisson(3), 0.5))},
    "policy": {"algorithm": algorithms.custom("careful", policy=Cautious()), "silence": "unknown"},
    "one of our policies": {"algorithm": algorithms.custom("greedy", policy=policies.Greedy()), "silence": "unknown"},
    "kernel": {"algorithm": algorithms.custom("rational", kernel=Rational(0.4)), "silence": "unknown"},
    "surrogate": {"algorithm": algorithms.custom("near", surrogate=Neighbours(3)), "silence": "waiting"},
    "all": {
        "algorithm": algorithms.custom("all", surrogate=Neighbours(1), policy=Cautious()),
        "silence": Average(),
        "patience": 5,
    },
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("context", [None, {"z": belated.Real(0, 1)}], ids=["alone", "context"])
def test_a_study_with_own_parts_is_stored_opened_and_replayed(name: str, context: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    study = belated.Study.create(url, "s", space=SPACE, context=context, seed=0, initial=3, **SETTINGS[name])
    here = None if context is None else {"z": 0.25}
    for s in range(1, 9):
        trial = study.ask(context=here)
        if s != 5:  # one stays out
            study.tell(trial, -((trial.params["x"] - 0.3) ** 2) + 0.1 * (trial.params["kind"] == "a"))
    again = belated.Study.open(url, "s")
    assert again.settings == study.settings
    assert all(again.replay(s).same for s in range(1, 9))
    assert again.ask(context=here).params == study.trial(9).params
    assert again.recommend(context=here) == study.recommend(context=here)
    belief = again.posterior([{"x": 0.3, "kind": "a"}], context=here, pending=True)
    assert np.all(np.isfinite(belief.mean))
    assert belated.check(url).ok


@pytest.mark.parametrize(("kind", "name", "part"), PARTS)
def test_a_part_is_written_and_read_back(kind: Any, name: str, part: type) -> None:
    value = part() if kind == "policy" else part(3)
    spec = write_part(kind, value)
    assert (spec[kind], spec["from"]) == (name, f"{part.__module__}:{part.__qualname__}")
    assert read_part(kind, spec) == value
    assert find_part(kind, name) is part
    assert name in list_parts(kind)


def test_a_name_is_enough(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    study = belated.Study.create(url, "s", space=SPACE, silence="average", algorithm="cautious", seed=0)
    assert study.settings.silence == Average()
    assert study.settings.algorithm == algorithms.custom("cautious", policy=Cautious())
    near = belated.Study.create(space=SPACE, silence="average", algorithm="neighbours", seed=0)
    assert near.settings.algorithm.model.surrogate == Neighbours()


@pytest.mark.parametrize("name", sorted(set(policies.__all__) - {"Policy", "Surface"}))
def test_each_of_our_policies_is_stored_without_a_name_being_given(name: str, tmp_path: Path) -> None:
    url, algorithm = f"sqlite:///{tmp_path}/lab.db", algorithms.custom("one policy", policy=getattr(policies, name)())
    study = belated.Study.create(url, "s", space=SPACE, algorithm=algorithm, silence="unknown", seed=0, initial=3)
    for trial in study.ask(n=3):
        study.tell(trial, trial.params["x"])
    again = belated.Study.open(url, "s")
    assert again.settings == study.settings
    assert again.ask() == study.trial(4)
    assert study.replay(4).same


def test_own_algorithms_and_silences_are_compared_by_name() -> None:
    study = belated.Study.create(space=belated.Points(np.linspace(0, 1, 9).tolist()), silence="unknown", seed=0)
    for _ in belated.simulate(study, lambda p: p["x"], delay=belated.delays.Fixed(2), rounds=8, seed=1):
        pass
    found = belated.compare(
        study, algorithms=["neighbours", "cautious"], silences=["average"], patience=[4], seeds=1, rounds=5
    )
    assert {(row.algorithm, row.silence) for row in found.rows if not row.own} == {
        ("neighbours", "average"),
        ("cautious", "average"),
    }


# What is missing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["silence", "policy", "kernel", "surrogate", "delay"])
def test_a_store_says_which_package_an_unregistered_part_comes_from(name: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    belated.Study.create(url, "s", space=SPACE, seed=0, **SETTINGS[name])
    forget()
    where = next(f"{part.__module__}:{part.__qualname__}" for kind, _, part in PARTS if kind == name)
    with pytest.raises(Unregistered, match=rf"^{name} \w+ is not registered here; it is {where}: install the package"):
        belated.Study.open(url, "s")


def test_what_has_no_name_cannot_be_stored_and_the_error_says_how_to_name_it(tmp_path: Path) -> None:
    forget()
    url = f"sqlite:///{tmp_path}/lab.db"
    with pytest.raises(InvalidInput, match=r'call belated.register\("silence", "average", Average\) first'):
        belated.Study.create(url, "s", space=SPACE, silence=Average(), seed=0)
    with pytest.raises(InvalidInput, match=r'belated.register\("kernel", "rational", Rational\)'):
        belated.Study.create(space=SPACE, seed=0, **SETTINGS["kernel"])  # its fits are recorded, in memory too
    assert belated.Study.create(space=SPACE, silence=Average(), seed=0).ask().number == 1


# What cannot be registered --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        (("colour", "red", Average), "kind must be one of policy, silence, kernel, surrogate, delay"),
        (("silence", "two words", Average), "a part's name must be letters"),
        (("silence", "average", Average()), "a part must be a class"),
        (("silence", "floor", Average), "silence floor is one of belated's own"),
        (("policy", "UCB", Cautious), "policy UCB is one of belated's own"),
        (("surrogate", "default", Neighbours), "surrogate default is one of belated's own"),
        (("silence", "mean", Average), "silence mean must be registered by its own name, average"),
        (("policy", "cautious", Neighbours), r"policy cautious is .*:Cautious already \(got .*:Neighbours\)"),
    ],
)
def test_what_cannot_be_registered_is_refused(said: Any, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        belated.register(*said)


def test_a_value_that_does_not_read_back_as_itself_cannot_be_stored() -> None:
    class Different:
        """Without fields that say what it is."""

        def fit(self, X: Any, y: Any) -> Any:
            return FittedNeighbours(1, X, y)

    belated.register("surrogate", "different", Different)
    with pytest.raises(InvalidInput, match="surrogate different with the same fields must be equal"):
        write_part("surrogate", Different())
    with pytest.raises(InvalidInput, match="surrogate neighbours: field k: value must be a string, a number"):
        write_part("surrogate", Neighbours({}))  # type: ignore[arg-type]


# What parts return ----------------------------------------------------------------------------------------------------


def test_a_silence_that_returns_something_wrong_is_named() -> None:
    @dataclass(frozen=True)
    class Wrong(Average):
        how: str = ""

        def fill(self, h: Any, floor: float, heard: Any) -> Filled:
            rows, y_tilde, *_ = super().fill(h, floor, heard)
            if self.how == "rows":
                return Filled(rows + 100, y_tilde)
            return Filled(rows, y_tilde[:-1] if self.how == "shape" else np.full(len(rows), np.inf))

    for how, rule in (
        ("rows", r"Wrong\(.*\): rows must be numbers of rows"),
        ("shape", r"Wrong: y_tilde must have the shape"),
        ("inf", "Wrong: y_tilde must be finite"),
    ):
        study = belated.Study.create(space=SPACE, silence=Wrong(how=how), seed=0, initial=0)
        for x in (0.1, 0.5, 0.9):
            study.add({"x": x, "kind": "a"}, x)
        with pytest.raises(InvalidInput, match=rule):
            study.ask()


def test_a_kernel_that_returns_something_wrong_is_named() -> None:
    @dataclass(frozen=True)
    class Slanted(Rational):
        def shape_and_slope(self, r2: Any) -> Any:
            return (1.0 + r2) ** -2, -2.0 * (1.0 + r2) ** -3

    @dataclass(frozen=True)
    class Flat(Rational):
        def frequencies(self, rng: Any, count: int, D: int) -> Any:
            return rng.standard_normal(count)

    for kernel, rule in (
        (Slanted(), "Slanted: k must be symmetric"),
        (Flat(), r"Flat: frequencies must have the shape"),
    ):
        belated.register("kernel", type(kernel).__name__, type(kernel))
        with pytest.raises(InvalidInput, match=rule):
            belated.Study.create(space=SPACE, algorithm=algorithms.custom("mine", kernel=kernel), silence="unknown")


class NoSurface(Fieldless):
    scores = Cautious.scores


class NothingToMaximise(Cautious):
    def surface(self, belief: Any, nu: float, rng: Any) -> Any:
        return None


class NoSlope(Cautious):
    def surface(self, belief: Any, nu: float, rng: Any) -> Any:
        return lambda Q: Q[:, 0]


class NoModel(Fieldless):
    def fit(self, X: Any, y: Any) -> Any:
        return None


class Wordless(Fieldless):
    fill = Average.fill


class NothingFilled(Average):
    def fill(self, h: Any, floor: float, heard: Any) -> Any:
        return h.y


def choose_with(silence: Any = "unknown", **parts: Any) -> belated.Trial:
    """A choice after three outcomes, by these parts."""
    algorithm = algorithms.custom("mine", **parts) if parts else "default"
    study = belated.Study.create(space=SPACE, algorithm=algorithm, silence=silence, seed=0, initial=0)
    for x in (0.1, 0.5, 0.9):
        study.add({"x": x, "kind": "a"}, x)
    return study.ask()


NO_SLOPE = r"NoSlope: surface must be a function of Q with a method gradient \(got <function "


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({"policy": NoSurface()}, r"policy must be a value with scores, surface \(.* has no surface\)"),
        ({"policy": NothingToMaximise()}, r"NothingToMaximise: surface must be a function of Q .* \(got None\)"),
        ({"policy": NoSlope()}, NO_SLOPE),
        ({"surrogate": NoModel()}, r"NoModel: what fit returns must be a value with mean, std \(None has no mean\)"),
        ({"kernel": Fieldless()}, r"kernel must be a value with variance, .* has no variance\)"),
        ({"silence": Wordless()}, r"silence must be a value with fill, name, .* has no name\)"),
        ({"silence": NothingFilled()}, r"NothingFilled: fill must return a silence.Filled \(got array"),
    ],
)
def test_a_part_without_what_it_needs_is_named(said: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        choose_with(**said)


@pytest.mark.parametrize("law", ["fixed", delays.Fixed, Fieldless()])
def test_a_law_without_rho_is_refused(law: Any) -> None:
    with pytest.raises(InvalidInput, match=r"law must be a value with rho \(.* (has no rho|is a class)\)"):
        silence.Fading(law=law)


# Packages -------------------------------------------------------------------------------------------------------------


def test_a_package_names_its_parts_by_entry_points_also_for_the_shell(tmp_path: Path) -> None:
    (tmp_path / "bakery.py").write_text(
        textwrap.dedent(
            """
            from dataclasses import dataclass

            import numpy as np


            @dataclass(frozen=True)
            class Line:
                slope: float = 1.0

                def fit(self, X, y):
                    return self

                def mean(self, Q):
                    return self.slope * Q[:, 0]

                def std(self, Q):
                    return np.full(len(Q), 0.1)
            """
        )
    )
    info = tmp_path / "bakery_parts-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bakery-parts\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[belated.surrogate]\nline = bakery:Line\n")
    paths = [str(tmp_path), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]

    def run(words: str, *, installed: bool = True) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths if installed else paths[1:])}
        return subprocess.run(
            [sys.executable, "-c", "from belated.cli import main; main()", *words.split()],
            cwd=tmp_path / "work", env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    (tmp_path / "work").mkdir()
    made = run("new s --real x 0 1 --algorithm line --silence unknown --seed 0")
    assert made.returncode == 0, made.stderr
    assert run("ask s").returncode == 0
    without = run("ask s", installed=False)
    assert without.returncode == 2
    assert "surrogate line is not registered here; it is bakery:Line: install the package bakery" in without.stderr


@dataclass(frozen=True)
class Dividing:
    """A policy that divides by zero."""

    def scores(self, belief: Any, Q: Any, nu: float, rng: Any) -> Any:
        return [1 / 0 for _ in Q]

    def surface(self, belief: Any, nu: float, rng: Any) -> Any:
        return 1 / 0


def test_a_policy_that_fails_is_a_warning_and_the_trial_says_what_was_asked_instead() -> None:
    algorithm = algorithms.custom("dividing", policy=Dividing())
    space = belated.Points([i / 16 for i in range(17)])
    study = belated.Study.create(space=space, algorithm=algorithm, silence="unknown", initial=0, seed=0)
    for i in range(4):
        study.add({"x": i / 16}, 0.1 * i)
    with pytest.warns(belated.PartWarning, match="dividing, trial 5: ZeroDivisionError: division by zero; fell back"):
        trial = study.ask()
    assert trial.note == "fell back to a space-filling point"
