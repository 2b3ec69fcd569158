"""Tells mkdocstrings to read our docstrings as website/markdown.py writes them."""

from typing import Any

import griffe

from website.markdown import write_markdown


class MarkdownDocstrings(griffe.Extension):  # type: ignore[misc]
    """Every docstring of the package, in Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = write_markdown(obj.docstring.value)
