"""Words and tables that people read."""

import pytest

from belated.wording import align_columns, format_count, format_duration, format_share, format_table, join_words


def test_counts() -> None:
    assert [format_count(n, "trial") for n in (0, 1, 2)] == ["0 trials", "1 trial", "2 trials"]
    assert format_count(2, "query", "queries") == "2 queries"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (-3, "0s"), (59.6, "1m"), (320, "5m 20s"), (7500, "2h 5m"), (183600, "2d 3h"), (86400 + 59, "1d")],
)
def test_durations_have_the_two_largest_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_words_are_joined() -> None:
    lists = [[], ["a"], ["a", "b"], ["a", "b", "c"]]
    assert [join_words(words) for words in lists] == ["none", "a", "a and b", "a, b and c"]


def test_words_to_the_left_and_numbers_to_the_right() -> None:
    assert format_table(["name", "n"], [["a", "10"], ["long name", "2"]], numbers=[1]) == (
        "name        n\na          10\nlong name   2"
    )


def test_bold_takes_no_room() -> None:
    bold = "\x1b[1m{}\x1b[0m".format
    plain = align_columns([["a", "10"], ["bb", "2"]], numbers=[1])
    styled = align_columns([["a", bold("10")], [bold("bb"), "2"]], numbers=[1])
    assert styled == [plain[0].replace("10", bold("10")), plain[1].replace("bb", bold("bb"))]


def test_a_small_share_is_not_0() -> None:
    assert [format_share(p) for p in (0.0, 0.00352, 0.0099, 0.01, 0.087, 1.0)] == [
        "0 %",
        "0.35 %",
        "0.99 %",
        "1 %",
        "9 %",
        "100 %",
    ]
