"""A file that is imported at a server: it is sent as it is, piece by piece, and the server reads its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

from belated.cli.io.files import check_path
from belated.cli.io.import_rows import ImportCounts
from belated.cli.io.rows import check_ending
from belated.errors import InvalidInput
from belated.record.ledger.calls import BY_IDENTITY, LONGEST_ANSWER, make_path
from belated.record.ledger.remote import RemoteStore
from belated.record.signing import Signature


def send_file(
    url: str,
    name: str,
    path: Path,
    as_of: float | datetime | None,
    mapped: Sequence[str],
    signature: Signature,
    reason: str | None,
    *,
    dry: bool,
) -> ImportCounts:
    """Let a server do what import_file does; dry: change nothing."""
    check_path(path)
    check_ending(path)
    try:
        path.open("rb").close()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read ({error.strerror})") from None
    store = RemoteStore.at(url)
    address = make_path(f"{BY_IDENTITY}{store.require(name)['id']}", "import")
    query = {
        "name": str(path),
        "as_of": as_of.timestamp() if isinstance(as_of, datetime) else as_of,
        "map": list(mapped),
        "amend": None if dry else reason,
        "by": signature.by,
        "remark": signature.remark or None,
        "dry_run": dry or None,
    }
    with store.connection.wait_longer(LONGEST_ANSWER):
        found = store.connection.post_file(address, path, query)
    counts: dict[str, Any] = {each.name: found[each.name] for each in fields(ImportCounts)}
    return ImportCounts(**{**counts, **{what: tuple(counts[what]) for what in ("left_out", "remarks", "edits")}})
