"""Tells mkdocstrings to read our docstrings as website/markdown.py writes them."""

from typing import Any

import griffe

from website.markdown import read_fields, write_markdown


class MarkdownDocstrings(griffe.Extension):  # type: ignore[misc]
    """Every docstring of the package, in Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = write_markdown(text, read_fields(obj.source, text) if obj.is_class else ())
