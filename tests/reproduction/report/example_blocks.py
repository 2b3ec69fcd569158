"""One block of every kind, for the tests of both renderers."""

from reproduction.report.document import (
    Block,
    Code,
    Commands,
    Emphasis,
    Heading,
    Link,
    Listing,
    Paragraph,
    Picture,
    Strong,
    Table,
)

BLOCKS: list[Block] = [
    Heading("A & B", 1),
    Paragraph(("It ", Strong("holds"), " in ", Emphasis("mean"), ", see ", Code("a|b"), Link("there", "#a--b"), ".")),
    Listing(("one", ("two ", Strong("2")))),
    Commands(("python -m reproduction list", "echo '<a>' && echo b")),
    Table(("x", "p"), (("a*b", "0.1"), ("c|d", "<0.0001")), frozenset({1})),
    Picture("a.png", "a picture", b"\x89PNG..."),
]
