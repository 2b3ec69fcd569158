"""Values as text: what is written is read back."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

import belated
from belated.cli.io.cells import ParameterTexts, write_options
from belated.space.encoding import Space
from belated.validation import make_key

SCALARS = st.one_of(
    st.text(max_size=4), st.integers(-9, 9), st.floats(allow_nan=False, allow_infinity=False), st.none(), st.booleans()
)


@given(st.lists(SCALARS, min_size=2, max_size=6, unique_by=lambda v: (str(type(v)), v)))
@example(["1", 1])
@example(["null", None, "a"])
@example(['"1"', "1", 1])
@example(["2.0", 2])
def test_every_option_is_written_so_that_it_is_read_back(options: list[Any]) -> None:
    if len(set(options)) < len(options):  # 1 beside True, 0 beside False: no Choice
        return
    written = write_options(options)
    assert len(written) == len(options)
    texts = ParameterTexts(Space.of({"c": belated.Choice(*options)}))
    for option in options:
        text = texts.format("c", option)
        assert text.strip()
        assert text.isprintable()
        assert make_key(texts.parse("c", text)) == make_key(option)
