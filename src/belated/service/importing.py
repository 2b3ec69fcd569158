"""Import a file that somebody sends: completely or not at all, or only said what would happen."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from belated.cli.io.import_rows import describe_aging, describe_early, describe_import, import_file
from belated.cli.io.transaction import apply_at_once
from belated.errors import BelatedError, InvalidInput
from belated.record.signing import Signature
from belated.service.served import ServedStudies
from belated.validation import format_names, format_value
from belated.wording import format_count

KINDS = ("csv", "jsonl")


def import_body(
    studies: ServedStudies, name: str, body: bytes, *, kind: str, by: str | None, dry: bool
) -> dict[str, Any]:
    """What became of the rows of a file; with `dry`, what would become of them."""
    if kind not in KINDS:
        raise InvalidInput(f"format must be one of {format_names(KINDS)} (got {format_value(kind)})")
    if not body.strip():
        raise InvalidInput("the file is empty")
    signature = Signature.of(by)
    with tempfile.TemporaryDirectory(prefix="belated-import-") as folder:
        path = Path(folder) / f"import.{kind}"
        path.write_bytes(body)
        try:
            counts = apply_at_once(
                studies.url,
                name,
                lambda study: import_file(study, path, signature=signature),
                signature=signature,
                asks=True,
                dry=dry,
            )
        except BelatedError as error:  # the folder is nobody's business
            raise type(error)(str(error).replace(f"{path}", path.name)) from None
    warnings = [words for words in (describe_early(counts), describe_aging(counts, dry=dry)) if words]
    if counts.left_out:
        columns = format_count(len(counts.left_out), "column")
        warnings.insert(0, f"{columns} left out: {format_names(counts.left_out)}")
    return {**asdict(counts), "dry_run": dry, "sentence": describe_import(counts, dry=dry), "warnings": warnings}
