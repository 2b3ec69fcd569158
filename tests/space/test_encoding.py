"""The border between dictionaries and arrays: nothing is lost, nothing leaves the bounds, bad input is told why."""

from __future__ import annotations

import enum
import json
import math
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from belated.errors import InvalidInput, Outside
from belated.learner.gp.domain import HOT, Compact, Finite, Interval, Lattice, OneHot
from belated.space.encoding import Space
from belated.space.parameters import Choice, Integer, Parameter, Real
from belated.space.points import Points
from belated.validation import Scalar, format_value

EPS = sys.float_info.epsilon
FINITE = st.floats(allow_nan=False, allow_infinity=False)
POSITIVE = st.floats(min_value=5e-324, allow_nan=False, allow_infinity=False)


def ordered(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[float, float]]:
    return st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair))).filter(lambda pair: pair[0] < pair[1])


reals = ordered(FINITE).map(lambda pair: Real(*pair)) | ordered(POSITIVE).map(lambda pair: Real(*pair, log=True))
integers = st.builds(
    lambda low, span, log: Integer(low if not log else abs(low) + 1, (low if not log else abs(low) + 1) + span, log),
    st.integers(-(10**12), 10**12),
    st.integers(1, 10) | st.integers(1, 10**12),
    st.booleans(),
)
scalars: st.SearchStrategy[Scalar] = (
    st.none() | st.booleans() | st.text(max_size=5) | st.integers(-(10**20), 10**20) | FINITE
)
choices = st.lists(scalars, min_size=2, max_size=5, unique=True).map(lambda options: Choice(*options))
parameters: st.SearchStrategy[Parameter] = reals | integers | choices
names = st.text(min_size=1, max_size=5).filter(lambda name: bool(name.strip()))
spaces = st.dictionaries(names, parameters, min_size=1, max_size=4).map(Space.of)


def some_value(parameter: Parameter, data: st.DataObject) -> Scalar:
    if isinstance(parameter, Choice):
        return data.draw(st.sampled_from(parameter.options))
    if isinstance(parameter, Integer):
        return data.draw(st.integers(parameter.low, parameter.high))
    return data.draw(st.floats(parameter.low, parameter.high))


def some_params(space: Space, data: st.DataObject) -> dict[str, Scalar]:
    assert not isinstance(space.parameters, Points)
    return {name: some_value(p, data) for name, p in zip(space.names, space.parameters, strict=True)}


def rounding(real: Real) -> Callable[[float], float]:
    """How far decode(encode(x)) may lie from x: a few ulps of the bounds, or of u on the log scale."""
    if real.log:
        return lambda x: 8 * EPS * (1 + abs(math.log(real.low)) + abs(math.log(real.high))) * x + 5e-324
    return lambda x: 4 * EPS * max(abs(real.low), abs(real.high)) + 5e-324


# Parameters

EXTREMES = [
    Real(0, 1),
    Real(-1e308, 1e308),
    Real(-sys.float_info.max, sys.float_info.max),
    Real(1e-300, 1e300, log=True),
    Real(5e-324, sys.float_info.max, log=True),
    Real(3.0, sys.float_info.max, log=True),
    Real(5e-324, 1e-323, log=True),
    Real(0, 5e-324),
    Real(1, 1 + EPS),
    Real(1e6, 1e6 * (1 + 1e-12), log=True),
    Real(1e-6, 1, log=True),
]


@given(reals | st.sampled_from(EXTREMES), st.data())
def test_a_real_survives_the_round_trip(real: Real, data: st.DataObject) -> None:
    x = data.draw(st.floats(real.low, real.high))
    (u,) = real.encode(x)
    assert 0.0 <= u <= 1.0
    assert math.copysign(1.0, u) == 1.0
    assert abs(real.decode(np.array([u])) - x) <= rounding(real)(x)


@given(reals | st.sampled_from(EXTREMES), st.floats(0, 1) | st.sampled_from([5e-324, 1e-17, 0.5, 1 - EPS / 2]))
def test_decode_never_leaves_the_bounds(real: Real, u: float) -> None:
    x = real.decode(np.array([u]))
    assert type(x) is float
    assert real.low <= x <= real.high


@pytest.mark.parametrize("real", EXTREMES, ids=repr)
def test_the_ends_of_a_real_are_exact(real: Real) -> None:
    assert real.encode(real.low)[0] == 0.0
    assert real.encode(real.high)[0] == 1.0
    assert real.decode(np.array([0.0])) == real.low
    assert real.decode(np.array([1.0])) == real.high
    assert real.decode(np.array([-1e-17])) == real.low
    assert real.decode(np.array([1.0 + EPS])) == real.high


@given(reals, st.floats(0, 1), st.floats(0, 1))
def test_decode_rises(real: Real, u: float, v: float) -> None:
    u, v = min(u, v), max(u, v)
    a, b = real.decode(np.array([u])), real.decode(np.array([v]))
    assert a <= b + rounding(real)(b)


def test_a_real_follows_its_formula() -> None:
    assert Real(-5, 10).encode(-2)[0] == 0.2
    assert Real(-5, 10).decode(np.array([0.5])) == 2.5
    assert Real(1e-6, 1, log=True).encode(1e-3)[0] == pytest.approx(0.5, abs=1e-15)
    assert Real(1e-6, 1, log=True).decode(np.array([0.5])) == pytest.approx(1e-3, rel=1e-14)
    assert Real(1e-300, 1e300, log=True).decode(np.array([0.5])) == pytest.approx(1.0, rel=1e-12)
    assert Real(-1e308, 1e308).decode(np.array([0.5])) == 0.0
    assert math.copysign(1.0, Real(0, 1).encode(-0.0)[0]) == 1.0


def test_a_narrow_log_range_keeps_its_digits() -> None:
    real = Real(1e6, 1e6 * (1 + 1e-12), log=True)
    for share in (0.1, 0.5, 0.9):
        x = real.low + share * (real.high - real.low)
        assert real.encode(x)[0] == pytest.approx((x - real.low) / (real.high - real.low), abs=1e-9)
        assert real.decode(real.encode(x)) == x


@pytest.mark.parametrize("real", EXTREMES, ids=repr)
def test_decode_is_calm_next_to_the_ends(real: Real) -> None:
    for u in (5e-324, EPS, 1 - EPS, 1 - EPS / 2):
        assert real.low <= real.decode(np.array([u])) <= real.high


@given(integers, st.data())
def test_an_integer_survives_the_round_trip(integer: Integer, data: st.DataObject) -> None:
    k = data.draw(st.integers(integer.low, integer.high))
    back = integer.decode(integer.encode(k))
    assert type(back) is int
    assert back == k
    assert integer.low <= integer.decode(np.array([data.draw(st.floats(-1, 2))])) <= integer.high


@given(choices, st.data())
def test_a_choice_survives_the_round_trip(choice: Choice, data: st.DataObject) -> None:
    option = data.draw(st.sampled_from(choice.options))
    columns = choice.encode(option)
    assert sorted(columns) == [0.0] * (len(choice.options) - 1) + [HOT]
    back = choice.decode(columns)
    assert back == option
    assert type(back) is type(option)


def test_what_counts_as_a_number() -> None:
    values: list[Any] = [1, 1.0, np.float64(1), np.float32(1), np.int8(1), np.uint64(1), np.longdouble(1)]
    for value in values:
        assert Real(0, 2).encode(value)[0] == 0.5
    for value in [1, np.int64(1), np.uint8(1)]:
        assert Integer(0, 2).encode(value)[0] == 0.5
    low, high = np.array([0, 2]), np.array([0.5, 2.5], dtype=np.float32)
    assert Real(*low) == Real(0, 2)
    assert Real(*high) == Real(0.5, 2.5)
    assert type(Real(*low).low) is type(Real(*high).low) is float
    assert type(Integer(*low).high) is int


def test_options_are_plain_and_matched_by_value_and_kind() -> None:
    class Colour(str, enum.Enum):  # noqa: UP042 (its str() is not its value, a StrEnum's is)
        RED = "red"

    choice = Choice(Colour.RED, np.str_("blue"), np.float64(0.5), np.int64(2), np.True_, None)
    assert choice.options == ("red", "blue", 0.5, 2, True, None)
    assert [type(option) for option in choice.options] == [str, str, float, int, bool, type(None)]
    assert repr(Choice("a", 1)) == "Choice('a', 1)"
    assert_array_equal(choice.encode(2.0), choice.encode(2))
    for stranger in (1, "2", False, "RED"):
        with pytest.raises(Outside):
            choice.encode(stranger)
    with pytest.raises(Outside):
        Choice(1, 2).encode(True)


HUGE: Any = np.longdouble("1e400")
FALSE: Any = np.False_
BAD_PARAMETERS: list[tuple[Callable[[], object], str]] = [
    (lambda: Real(3, 1), "low must be less than high (got 3, 1)"),
    (lambda: Real(1, 1.0), "low must be less than high (got 1, 1.0)"),
    (lambda: Real(0, 1, log=True), "low must be more than 0 when log=True (got 0)"),
    (lambda: Real(-1, 1, log=True), "low must be more than 0 when log=True (got -1)"),
    (lambda: Real(0, math.inf), "high must be a finite number (got inf)"),
    (lambda: Real(math.nan, 1), "low must be a finite number (got nan)"),
    (lambda: Real(0, 10**400), "high must be a finite number (got an integer of about 401 digits)"),
    (lambda: Real(0, 10**5000), "high must be a finite number (got an integer of about 5001 digits)"),
    (lambda: Real(0, HUGE), "high must be a finite number (got inf)"),
    (lambda: Real(False, 1), "low must be a number (got False)"),
    (lambda: Real(FALSE, 1), "low must be a number (got False)"),
    (lambda: Real("0", 1), "low must be a number (got '0')"),  # type: ignore[arg-type]
    (lambda: Real(0, None), "high must be a number (got None)"),  # type: ignore[arg-type]
    (lambda: Real(0, 1, log=1), "log must be True or False (got 1)"),  # type: ignore[arg-type]
    (lambda: Integer(3, 1), "low must be less than high (got 3, 1)"),
    (lambda: Integer(2, 2), "low must be less than high (got 2, 2)"),
    (lambda: Integer(0, 8, log=True), "low must be at least 1 when log=True (got 0)"),
    (lambda: Integer(0, 2.5), "high must be an integer (got 2.5)"),  # type: ignore[arg-type]
    (lambda: Integer(True, 8), "low must be an integer (got True)"),
    (lambda: Integer(0, math.inf), "high must be an integer (got inf)"),  # type: ignore[arg-type]
    (lambda: Integer(0, 2**53 + 1), "high must be between -2**53 and 2**53 (got 9007199254740993)"),
    (lambda: Integer(0, 10**13), "high - low must be at most 10**12 (got 0, 10000000000000)"),
    (lambda: Choice(), "Choice must have at least two options (got [])"),
    (lambda: Choice("a"), "Choice must have at least two options (got ['a'])"),
    (lambda: Choice("a", "b", "a"), "options must differ (got 'a' and 'a')"),
    (lambda: Choice(1, True), "options must differ (got 1 and True)"),
    (lambda: Choice(1, 1.0), "options must differ (got 1 and 1.0)"),
    (lambda: Choice(["a", "b"]), "Choice must have at least two options (got [['a', 'b']])"),
    (lambda: Choice(1, (2,)), "an option's value must be a string, a number, a boolean or None (got (2,))"),
    (lambda: Choice(1, math.nan), "an option's value must be a finite number (got nan)"),
]


@pytest.mark.parametrize(("make", "sentence"), BAD_PARAMETERS, ids=[sentence for _, sentence in BAD_PARAMETERS])
def test_a_parameter_refuses(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{re.escape(sentence)}$"):
        make()


def test_shown_is_short_and_never_fails() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert format_value(np.float64(0.5)) == "0.5"
    assert len(format_value("x" * 10_000)) == 120
    assert format_value(Broken()) == "a Broken"
    assert "\n" not in format_value(np.zeros((3, 3)))


# Spaces of parameters

SPACE = Space.of(
    {"x": Real(0, 1), "lr": Real(1e-6, 1, log=True), "layers": Integer(1, 8), "act": Choice("relu", "tanh")}
)
GOOD = {"x": 0.25, "lr": 1e-3, "layers": 8, "act": "tanh"}


def test_layout_of_a_space() -> None:
    assert SPACE.names == ("x", "lr", "layers", "act")
    assert SPACE.domain == Compact((Interval(), Interval(), Lattice(1, 8), OneHot(2)))
    assert SPACE.widths == (1, 1, 1, 2)
    assert SPACE.encode(GOOD) == pytest.approx([0.25, 0.5, 1.0, 0.0, HOT], abs=1e-15)
    assert list(SPACE.decode(SPACE.encode(GOOD))) == list(GOOD)


@given(spaces, st.data())
def test_params_survive_the_round_trip(space: Space, data: st.DataObject) -> None:
    assert isinstance(space.domain, Compact)
    params = some_params(space, data)
    x = space.encode(params)
    assert x.shape == (space.domain.D,)
    assert space.domain.contains(x[None]).all()
    back = space.decode(x)
    assert list(back) == list(space.names)
    assert not isinstance(space.parameters, Points)
    for (name, value), parameter in zip(params.items(), space.parameters, strict=True):
        if isinstance(parameter, Real):
            assert isinstance(value, float)
            assert abs(back[name] - value) <= rounding(parameter)(value)
        else:
            assert back[name] == value
            assert type(back[name]) is type(value)


@given(spaces, st.integers(0, 2**32 - 1))
def test_every_admissible_point_decodes_to_params_of_the_space(space: Space, seed: int) -> None:
    assert isinstance(space.domain, Compact)
    X = space.domain.place(np.random.default_rng(seed).random((5, len(space.names))))
    params = [space.decode(x) for x in X]
    again = space.encode_all(params)  # raises where params lie outside
    discrete = ~space.domain.continuous
    assert_array_equal(again[:, discrete], X[:, discrete])


def test_encode_all_of_none_is_an_empty_array() -> None:
    assert SPACE.encode_all([]).shape == (0, 5)


def test_fix_encodes_the_named_coordinates_only() -> None:
    fixed = SPACE.fix({"act": "relu", "x": 1})
    assert list(fixed) == [0, 3]
    assert_array_equal(fixed[0], [1.0])
    assert_array_equal(fixed[3], [HOT, 0.0])
    assert SPACE.fix({}) == {}
    with pytest.raises(InvalidInput, match=r"^y: there is no such parameter"):
        SPACE.fix({"y": 1})


BAD_PARAMS: list[tuple[dict[Any, Any], type[InvalidInput], str]] = [
    ({"x": 1.5}, Outside, "x: value must be between 0.0 and 1.0 (got 1.5)"),
    ({"x": -1e-9}, Outside, "x: value must be between 0.0 and 1.0 (got -1e-09)"),
    ({"lr": 0}, Outside, "lr: value must be between 1e-06 and 1.0 (got 0)"),
    ({"x": math.nan}, InvalidInput, "x: value must be a finite number (got nan)"),
    ({"x": math.inf}, InvalidInput, "x: value must be a finite number (got inf)"),
    ({"x": 10**400}, InvalidInput, "x: value must be a finite number (got an integer of about 401 digits)"),
    ({"x": True}, InvalidInput, "x: value must be a number (got True)"),
    ({"x": "0.5"}, InvalidInput, "x: value must be a number (got '0.5')"),
    ({"x": [0.5]}, InvalidInput, "x: value must be a number (got [0.5])"),
    ({"x": None}, InvalidInput, "x: value must be a number (got None)"),
    ({"layers": 0}, Outside, "layers: value must be between 1 and 8 (got 0)"),
    ({"layers": 10**400}, Outside, "layers: value must be between 1 and 8 (got an integer of about 401 digits)"),
    ({"layers": 2.5}, InvalidInput, "layers: value must be an integer (got 2.5)"),
    ({"layers": True}, InvalidInput, "layers: value must be an integer (got True)"),
    ({"act": "gelu"}, Outside, "act: value must be one of 'relu', 'tanh' (got 'gelu')"),
    ({"act": ["relu"]}, InvalidInput, "act: value must be a string, a number, a boolean or None (got ['relu'])"),
    ({"y": 1}, InvalidInput, "y: there is no such parameter (the names are x, lr, layers, act)"),
    ({7: 1}, InvalidInput, "7: there is no such parameter (the names are x, lr, layers, act)"),
]


@pytest.mark.parametrize("what", ["space", "context"])
@pytest.mark.parametrize(("change", "error", "sentence"), BAD_PARAMS, ids=[row[2] for row in BAD_PARAMS])
def test_encode_refuses(change: dict[Any, Any], error: type[InvalidInput], sentence: str, what: Any) -> None:
    prefix = "" if what == "space" else "context "
    with pytest.raises(InvalidInput, match=f"^{prefix}{re.escape(sentence)}$") as caught:
        Space.of(SPACE, what).encode({**GOOD, **change})
    assert type(caught.value) is error


def test_encode_refuses_what_is_missing_or_no_dictionary() -> None:
    with pytest.raises(InvalidInput, match=r"^lr: value is missing \(got x\)$"):
        SPACE.encode({"x": 0.5})
    with pytest.raises(InvalidInput, match=r"^context x: value is missing \(got none\)$"):
        Space.of(SPACE, "context").encode({})
    with pytest.raises(InvalidInput, match=r"^params must be a dictionary of x, lr, layers, act \(got \[1, 2\]\)$"):
        SPACE.encode([1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("x", [[0.5] * 4, [0.5] * 6, [math.nan, 0, 0, 0, HOT]])
def test_decode_refuses(x: list[float]) -> None:
    with pytest.raises(InvalidInput, match=r"^x must be 5 finite numbers"):
        SPACE.decode(np.array(x))


BAD_SPACES: list[tuple[Any, str]] = [
    ({}, "space: there must be at least one parameter (got none)"),
    ({"x": (0, 1)}, "x: must be a Real, an Integer or a Choice (got (0, 1))"),
    ({"x": Real}, "x: must be a Real, an Integer or a Choice (got <class 'belated.space.parameters.Real'>)"),
    ({"": Real(0, 1)}, "space: names must be strings and not empty (got '')"),
    ({" ": Real(0, 1)}, "space: names must be strings and not empty (got ' ')"),
    ({3: Real(0, 1)}, "space: names must be strings and not empty (got 3)"),
    ([Real(0, 1)], "space must be a dictionary of Real, Integer and Choice, or Points (got [Real("),
    (None, "space must be a dictionary of Real, Integer and Choice, or Points (got None)"),
]


@pytest.mark.parametrize(("declared", "sentence"), BAD_SPACES, ids=[sentence for _, sentence in BAD_SPACES])
def test_a_space_refuses(declared: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{re.escape(sentence)}"):
        Space.of(declared)


def test_an_empty_context_is_refused_as_a_context() -> None:
    with pytest.raises(InvalidInput, match=r"^context: there must be at least one parameter"):
        Space.of({}, "context")


# Points


def test_points_of_dictionaries() -> None:
    space = Space.of(
        Points(
            [
                {"dose": 1, "drug": "a", "fasting": True, "site": 7},
                {"dose": 2.0, "drug": "b", "fasting": False, "site": 7},
                {"dose": 5, "drug": "a", "fasting": True, "site": 7},
            ]
        )
    )
    assert space.names == ("dose", "drug", "fasting", "site")
    assert space.widths == (1, 2, 2, 1)
    assert isinstance(space.domain, Finite)
    h = HOT
    assert_array_equal(space.domain.Q, [[0, h, 0, h, 0, 0], [0.25, 0, h, 0, h, 0], [1, h, 0, h, 0, 0]])
    assert [type(space.at(i)["dose"]) for i in range(3)] == [int, float, int]
    assert space.decode(space.domain.Q[1]) == {"dose": 2.0, "drug": "b", "fasting": False, "site": 7}
    assert space.index({"site": 7, "dose": 5.0, "drug": "a", "fasting": True}) == 2
    assert space.matching({"drug": "a"}).tolist() == [0, 2]
    assert space.matching({"drug": "a", "dose": np.int64(1)}).tolist() == [0]
    assert space.matching({}).tolist() == [0, 1, 2]
    assert repr(space.parameters) == "Points(3 of dose, drug, fasting, site)"


def test_points_of_arrays_and_their_names() -> None:
    assert Points(np.linspace(0, 1, 5)).names == ("x",)
    assert Points([[1.0], [2.0]]).names == ("x",)
    assert Points(np.eye(3)).names == ("x0", "x1", "x2")
    assert Points(np.eye(2), names=["a", "b"]).at(0) == {"a": 1.0, "b": 0.0}
    assert Points([{"a": 1, "b": 2}, {"b": 3, "a": 4}], names=["b", "a"]).rows == ((2, 1), (3, 4))
    assert Points(range(3)).rows == ((0,), (1,), (2,))
    assert len(Points([[3, "a"]])) == 1


def test_mixed_columns_are_options() -> None:
    points = Points([1, "auto", None, 2.5])
    assert points.widths == (4,)
    assert [points.decode(x)["x"] for x in points.domain.Q] == [1, "auto", None, 2.5]


@given(st.lists(st.tuples(FINITE, st.sampled_from(["a", "b", None, True])), min_size=1, max_size=8, unique=True))
@example([(-1.7e308, "a"), (1.7e308, "a"), (0.0, "a")])
@example([(-0.0, "a"), (1.0, "a"), (0.5, "b")])
def test_points_survive_the_round_trip(rows: list[tuple[float, Any]]) -> None:
    try:
        space = Space.of(Points([list(row) for row in rows]))
    except InvalidInput as error:
        assume("rounding" not in str(error))
        raise
    assert isinstance(space.domain, Finite)
    Q = space.domain.Q
    assert len(Q) == len(rows)
    assert Q.min() >= 0.0
    assert Q.max() <= 1.0
    for i, row in enumerate(rows):
        params = {"x0": row[0], "x1": row[1]}
        assert space.index(params) == i
        assert_array_equal(space.encode(params), Q[i])
        assert space.decode(Q[i]) == params
        assert space.at(i) == params
        assert i in space.matching({"x1": row[1]})


def test_an_encoded_point_is_the_callers_own() -> None:
    space = Space.of(Points([1, 2]))
    space.encode({"x": 1})[0] = 0.5
    assert isinstance(space.domain, Finite)
    assert space.domain.Q[0, 0] == 0.0


BAD_POINTS: list[tuple[Callable[[], object], str]] = [
    (lambda: Points([]), "points must not be empty (got none)"),
    (lambda: Points(np.zeros((0, 2))), "points must not be empty (got none)"),
    (lambda: Points([1, 2, 1.0]), "points must differ (points 0 and 2 are the same)"),
    (lambda: Points([[0, "a"], [0, "b"], [0, "a"]]), "points must differ (points 0 and 2 are the same)"),
    (
        lambda: Points([-1e9, 1e-9, 2e-9]),
        "points must differ by more than rounding once scaled (points 1 and 2 are the same)",
    ),
    (
        lambda: Points([2**60, 2**60 + 1]),
        "points must differ by more than rounding once scaled (points 0 and 1 are the same)",
    ),
    (lambda: Points([{"a": 1}, {"b": 1}]), "point 1: b: there is no such parameter (the names are a)"),
    (lambda: Points([{"a": 1, "b": 2}, {"b": 1}]), "point 1: a: value is missing (got b)"),
    (lambda: Points([{"a": 1}, 3]), "point 1: params must be a dictionary of a (got 3)"),
    (lambda: Points([[1, 2], [1]]), "point 1: must have a value for each of x0, x1 (got [1])"),
    (lambda: Points([1, math.nan]), "point 1: x: value must be a finite number (got nan)"),
    (lambda: Points([1, 10**400]), "point 1: x: value must be a finite number (got an integer of about 401 digits)"),
    (lambda: Points([1, b"a"]), "point 1: x: value must be a string, a number, a boolean or None (got b'a')"),
    (
        lambda: Points(np.array([5], dtype="m8[s]")),
        "point 0: x: value must be a string, a number, a boolean or None (got np.timedelta64(5,'s'))",
    ),
    (lambda: Points([1, True, "a"]), "x: options must differ (got 1 and True)"),
    (lambda: Points(np.eye(2), names=["a", "a"]), "names must differ (got 'a' twice)"),
    (lambda: Points(np.eye(2), names=["a"]), "point 0: must have a value for each of a (got [np.float64(1.0), "),
    (lambda: Points([1, 2], names="x"), "names must be a list of strings (got 'x')"),
    (lambda: Points([1, 2], names=[1]), "names must be strings and not empty (got 1)"),  # type: ignore[list-item]
    (lambda: Points([[], []]), "there must be at least one parameter (got none)"),
    (lambda: Points("abc"), "points must be a list of dictionaries or an array (n,) or (n, d) (got 'abc')"),
    (
        lambda: Points(np.zeros((1, 1, 1))),
        "points must be a list of dictionaries or an array (n,) or (n, d) (got array([[[0.]]]))",
    ),
]


@pytest.mark.parametrize(("make", "sentence"), BAD_POINTS, ids=[sentence for _, sentence in BAD_POINTS])
def test_points_refuse(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{re.escape(sentence)}"):
        make()


@pytest.mark.parametrize(
    ("params", "error", "sentence"),
    [
        ({"x0": 7, "x1": 1}, Outside, "x0: value must be that of one of the 3 points (got 7)"),
        ({"x0": 1, "x1": 1}, Outside, "x1: value must be that of one of the 3 points that has the given x0 (got 1)"),
        ({"x0": "0", "x1": 1}, Outside, "x0: value must be that of one of the 3 points (got '0')"),
        ({"x0": True, "x1": 2}, Outside, "x0: value must be that of one of the 3 points (got True)"),
        ({"x0": math.nan, "x1": 2}, InvalidInput, "x0: value must be a finite number (got nan)"),
        ({"x0": 1}, InvalidInput, "x1: value is missing (got x0)"),
        ({"x0": 1, "x1": 2, "z": 3}, InvalidInput, "z: there is no such parameter (the names are x0, x1)"),
        ([0, 1], InvalidInput, "params must be a dictionary of x0, x1 (got [0, 1])"),
    ],
)
@pytest.mark.parametrize("what", ["space", "context"])
def test_what_is_no_point_is_refused(params: Any, error: type[InvalidInput], sentence: str, what: Any) -> None:
    space = Space.of(Points([[0, 1], [0, 2], [1, 2]]), what)
    prefix = "" if what == "space" else "context "
    for use in (space.encode, space.index):
        with pytest.raises(InvalidInput, match=f"^{prefix}{re.escape(sentence)}$") as caught:
            use(params)
        assert type(caught.value) is error


def test_points_decode_rows_of_Q_only() -> None:
    space = Space.of(Points([1, 2, 3]))
    assert space.decode(np.array([-0.0])) == {"x": 1}
    with pytest.raises(Outside, match=r"^x must be a row of Q \(got \[0.4\]\)$"):
        space.decode(np.array([0.4]))


def test_each_kind_of_space_has_its_own_way_to_fix() -> None:
    with pytest.raises(TypeError, match="matching"):
        Space.of(Points([1, 2])).fix({"x": 1})
    for use in (SPACE.matching, SPACE.index):
        with pytest.raises(TypeError, match="fix"):
            use(GOOD)


# Specifications


def exactly(value: object) -> str:
    """JSON tells 1, 1.0 and True apart, where == does not."""
    return json.dumps(value, allow_nan=False)


@given(spaces)
def test_a_space_survives_as_json(space: Space) -> None:
    back = Space.from_spec(json.loads(exactly(space.spec())))
    assert back == space
    assert exactly(back.spec()) == exactly(space.spec())
    assert back.domain == space.domain


@given(st.lists(st.tuples(scalars, st.integers(0, 3)), min_size=1, max_size=6))
def test_points_survive_as_json(rows: list[tuple[Scalar, int]]) -> None:
    try:
        space = Space.of(Points(rows, names=["b", "a"]))
    except InvalidInput:
        assume(False)
    back = Space.from_spec(json.loads(exactly(space.spec())), what="context")
    assert back == space
    assert back.what == "context"
    assert exactly(back.spec()) == exactly(space.spec())
    assert isinstance(back.domain, Finite)
    assert isinstance(space.domain, Finite)
    assert back.domain.Q.tobytes() == space.domain.Q.tobytes()


def test_specs_by_hand() -> None:
    assert Real(0, 1).spec() == {"kind": "real", "low": 0.0, "high": 1.0, "log": False}
    assert Integer(1, 8, log=True).spec() == {"kind": "integer", "low": 1, "high": 8, "log": True}
    assert Choice("a", None).spec() == {"kind": "choice", "options": ["a", None]}
    assert Points([1, 2]).spec() == {"kind": "points", "names": ["x"], "rows": [[1], [2]]}
    assert Space.of(Points([1, 2])).spec() == Points([1, 2]).spec()
    spec = {"kind": "parameters", "names": ["x"], "parameters": [Real(0, 1).spec()]}
    assert Space.of({"x": Real(0, 1)}).spec() == spec


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"kind": "parameters", "names": ["x"], "parameters": []},
        {"kind": "parameters", "names": [], "parameters": []},
        {"kind": "parameters", "names": ["x", "x"], "parameters": [Real(0, 1).spec()] * 2},
        {"kind": "parameters", "names": ["x"], "parameters": [{"kind": "complex"}]},
        {"kind": "parameters", "names": ["x"], "parameters": [{"kind": "real", "low": 0, "high": 1}]},
        {"kind": "parameters", "names": ["x"], "parameters": [{"kind": "real", "low": 1, "high": 0, "log": False}]},
        {"kind": "points", "names": ["x"]},
        {"kind": "points", "names": ["x"], "rows": [[1], [1]]},
    ],
)
def test_a_spec_that_nobody_wrote_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidInput):
        Space.from_spec(spec)
