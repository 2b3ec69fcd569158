"""What is written is read again, to the last digit that is kept; a broken file is refused in one sentence."""

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.errors import InvalidInput, Unreadable
from reproduction.curves import (
    TITLES,
    CurveKey,
    CurveRun,
    Curves,
    group_runs,
    read_curves,
    write_curves,
)
from tests.reproduction.made_up_curves import are_same

numbers = st.floats(-1e6, 1e6)


names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)


@st.composite
def some_curves(draw: st.DrawFn) -> Curves:
    runs = []
    keys = draw(st.lists(st.builds(CurveKey, names, names, names), unique=True, max_size=3))
    for key in keys:
        iterations = sorted(draw(st.sets(st.integers(1, 200), min_size=1, max_size=5)))
        for seed in draw(st.sets(st.integers(0, 99), min_size=1, max_size=3)):
            simple, late = (draw(st.lists(numbers, min_size=len(iterations), max_size=len(iterations))) for _ in "ab")
            cumulative = [math.nan] * len(iterations) if draw(st.booleans()) else late[::-1]
            values = {"simple": simple, "late": late, "cumulative": cumulative}
            arrays = {name: np.array(value, dtype=float) for name, value in values.items()}
            runs.append(CurveRun(key=key, seed=seed, iterations=np.array(iterations), **arrays))
    return group_runs(runs)


@given(some_curves(), st.sampled_from(["a.csv", "a.csv.gz"]))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, curves: Curves, name: str) -> None:
    path = tmp_path_factory.mktemp("curves") / name
    write_curves(path, curves)
    again = read_curves(path)
    assert are_same(curves, again)
    first = path.read_bytes()
    write_curves(path, again)
    assert path.read_bytes() == first
    assert (first[:2] == b"\x1f\x8b") == name.endswith(".gz")


@given(numbers)
def test_ten_digits_are_kept(value: float) -> None:
    ones = np.ones(1)
    run = CurveRun(
        key=CurveKey("p", "c", "text"),
        seed=0,
        iterations=np.array([1]),
        simple=value * ones,
        late=ones,
        cumulative=ones,
    )
    kept = group_runs([run])[run.key].simple[0, 0]
    assert kept == pytest.approx(value, rel=5e-10, abs=0)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=50))
def test_cumulative_regret_is_kept_to_half_a_millionth_a_step(gaps: list[float]) -> None:
    cumulative, iterations = np.cumsum(gaps), np.arange(1, len(gaps) + 1)
    run = CurveRun(
        key=CurveKey("p", "c", "text"),
        seed=0,
        iterations=iterations,
        simple=np.ones(len(gaps)),
        late=np.ones(len(gaps)),
        cumulative=cumulative,
    )
    kept = group_runs([run])[run.key].cumulative[0]
    assert np.all(np.abs(kept - cumulative) <= 0.5000001e-6 * iterations)


HEADER = ",".join(TITLES)


def test_a_file_says_in_lists_what_happened_at_which_iteration(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = ["p,a,published,0,1*2 10,1 0.5*2,,", "p,b,text,3,1 9 10*2,1*3 0.25,same,0.5 3*2 0.123456"]
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    curves = read_curves(path)
    published, line = curves[CurveKey("p", "a", "published")], curves[CurveKey("p", "b", "text")]
    assert published.iterations.tolist() == [1, 2, 12]
    assert published.simple.tolist() == [[1.0, 0.5, 0.5]]
    assert np.all(np.isnan(published.late))
    assert np.all(np.isnan(published.cumulative))
    assert line.iterations.tolist() == [1, 10, 20, 30]
    assert line.late.tolist() == line.simple.tolist() == [[1.0, 1.0, 1.0, 0.25]]
    assert line.cumulative.tolist() == [[0.5, 3.5, 6.5, 6.623456]]
    assert line.cut_at(20).cumulative.tolist() == [[0.5, 3.5, 6.5]]
    write_curves(path, curves)
    assert path.read_text().splitlines()[1:] == rows


def test_the_order_of_runs_does_not_matter(tmp_path: Path) -> None:
    rows = ["p,b,text,1,1*2,0.2 0.1,0.1*2,2 1", "p,b,text,0,1*2,0.2*2,same,2 1", "p,a,text,0,1,0.5,,"]
    for name, order in (("a.csv", rows), ("b.csv", rows[::-1])):
        (tmp_path / name).write_text("\n".join([HEADER, *order]) + "\n")
        write_curves(tmp_path / f"{name}.gz", read_curves(tmp_path / name))
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must begin with the line panel,curve"),
        ("seed,value\n1,2\n", "must begin with the line panel,curve"),
        (f"{HEADER}\np,c,text,0,1,0.5,0.5\n", "line 2: 8 fields expected, 7 found"),
        (f"{HEADER}\np,c,text,0,1,half,0.5,1\n", "line 2: simple must be numbers, or number*count (got 'half')"),
        (f"{HEADER}\np,c,text,0,1,1*x,0.5,1\n", "line 2: simple must be numbers, or number*count (got '1*x')"),
        (f"{HEADER}\np,c,text,0,1,nan,0.5,1\n", "line 2: simple must be finite numbers"),
        (f"{HEADER}\np,c,text,0,1,,0.5,1\n", "line 2: simple is empty"),
        (f"{HEADER}\np,c,text,0,1,0.5,inf,1\n", "line 2: late must be finite numbers"),
        (f"{HEADER}\np,c,text,0,1*2,1*2,0.5,1\n", "line 2: late must have 2 values, one for each of the steps (got 1)"),
        (f"{HEADER}\np,c,text,0.5,1,0.5,0.5,1\n", "line 2: seed must be a whole number (got '0.5')"),
        (f"{HEADER}\np,c,text,0,0 1,1*2,same,1*2\n", "line 2: steps must be whole numbers of at least 1 (got '0 1')"),
        (f"{HEADER}\np,c,text,0,1.5,1,same,1\n", "line 2: steps must be whole numbers of at least 1 (got '1.5')"),
        (f"{HEADER}\n,c,text,0,1,0.5,0.5,1\n", "line 2: panel is empty"),
        (f"{HEADER}\np,c,text,0,1,1,1,1\np,c,text,0,1,1,1,1\n", "line 3: a second row of c in p (text), seed 0"),
        (f'{HEADER}\np,"c,text,0,1,0.5,0.5,1\n', "line 2"),
        (f"{HEADER}\np,c,text,0,1,1,1,1\np,c,text,1,1*2,1*2,same,1*2\n", "different iterations"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(Unreadable) as refused:
        read_curves(path)
    message = str(refused.value)
    assert says in message
    assert message.startswith(str(path))
    assert "\n" not in message


def test_a_missing_a_torn_and_a_strange_file_are_refused(tmp_path: Path) -> None:
    torn, strange = tmp_path / "torn.csv.gz", tmp_path / "strange.csv"
    torn.write_bytes(gzip.compress(f"{HEADER}\n".encode() * 50)[:-12])
    strange.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none.csv", torn, strange):
        with pytest.raises(Unreadable, match=r"cannot be read"):
            read_curves(path)


def test_runs_that_do_not_fit_together_are_refused() -> None:
    def run(seed: int, *simple: float) -> CurveRun:
        values = np.array(simple)
        iterations = np.arange(1, len(values) + 1)
        return CurveRun(
            key=CurveKey("p", "c", "text"),
            seed=seed,
            iterations=iterations,
            simple=values,
            late=values,
            cumulative=values,
        )

    for runs, says in (
        ([run(0, 1.0), run(0, 1.0)], "two runs of seed 0"),
        ([run(0, 1.0), run(1, 1.0, 0.5)], "different iterations: seed 0 at 1 from 1 to 1, seed 1 at 2 from 1 to 2"),
        ([run(0, math.nan)], "not finite"),
    ):
        with pytest.raises(InvalidInput, match=says):
            group_runs(runs)
