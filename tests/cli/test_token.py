"""`belated token`: made, shown once, listed, revoked."""

from __future__ import annotations

from pathlib import Path

import pytest

import belated
from belated.record.ledger import open_store
from belated.service.tokens import TokenTable
from tests.cli.shell import STORE, check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("lab")


def test_a_token_is_shown_once_and_kept_as_a_hash() -> None:
    made = run_json("token", "new", "anna", "--study", "lab", "--scope", "tell", "--expires", "90d")
    assert (made["name"], made["scope"], made["study"]) == ("anna", "tell", "lab")
    assert made["expires_at"] - made["made_at"] == pytest.approx(90 * 86400)
    secret = made["token"].rsplit("_", 1)[1]
    assert secret not in invoke("token", "list").stdout
    assert secret.encode() not in Path("belated.db").read_bytes()
    (listed,) = run_json("token", "list")
    assert listed["id"] == made["id"]
    found = TokenTable(open_store(STORE)).find(made["token"])
    assert found is not None
    assert (found.name, found.allows("tell"), found.allows("ask")) == ("anna", True, False)


def test_a_revoked_token_is_gone() -> None:
    made = [run_json("token", "new", "anna")["token"] for _ in range(2)]
    assert invoke("token", "revoke", "anna").stdout == "Revoked 2 tokens of anna\n"
    table = TokenTable(open_store(STORE))
    assert [table.find(token) for token in made] == [None, None]
    assert invoke("token", "list").stdout.startswith("No tokens")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["token", "new", "anna", "--study", "nowhere"], "there is no study 'nowhere'; there are lab"),
        (["token", "new", "anna", "--expires", "soon"], "--expires must be a number and a unit"),
        (["token", "new", "anna", "--scope", "all"], "'all' is not one of"),
        (["token", "new", " "], "name must be printable"),
        (["token", "revoke", "bob"], "there is no token 'bob'; there are none"),
        (["token", "list", "--store", "https://lab.example.org"], "tokens are made where the server's store is"),
    ],
)
def test_bad_input_gets_one_sentence(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)


def test_tokens_are_no_part_of_a_check_or_a_backup() -> None:
    made = run_json("token", "new", "anna")
    assert belated.check(STORE).ok
    belated.backup(STORE, "copy.db")
    assert made["id"].encode() not in Path("copy.db").read_bytes()
    assert made["id"].encode() in Path("belated.db").read_bytes() + Path("belated.db-wal").read_bytes()
