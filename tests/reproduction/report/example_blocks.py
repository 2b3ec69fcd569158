"""One block of every kind, for the tests of both renderers."""

from reproduction.report.document import (
    Block,
    Code,
    CommandBlock,
    Emphasis,
    Heading,
    Link,
    Listing,
    Paragraph,
    Picture,
    Strong,
    TableBlock,
)

BLOCKS: list[Block] = [
    Heading("A & B", 1),
    Paragraph(("It ", Strong("holds"), " in ", Emphasis("mean"), ", see ", Code("a|b"), Link("there", "#a--b"), ".")),
    Listing(("one", ("two ", Strong("2")))),
    CommandBlock(("python -m reproduction list", "echo '<a>' && echo b")),
    TableBlock(("x", "p"), (("a*b", "0.1"), ("c|d", "<0.0001")), frozenset({1})),
    Picture("a.png", "a picture", b"\x89PNG..."),
]
