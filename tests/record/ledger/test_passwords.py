"""No password of a url is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.record.ledger.passwords import mask_password


@pytest.mark.parametrize(
    ("url", "shows"),
    [
        ("postgresql://ann:s3cret@h/db", "postgresql://ann:***@h/db"),
        ("postgresql://ann:s3cret@h:5432/db?sslmode=require", "postgresql://ann:***@h:5432/db?sslmode=require"),
        ("postgresql://ann@h/db?password=s3cret&x=1", "postgresql://ann@h/db?password=***&x=1"),
        ("postgresql:///db?PASSWORD=s3cret", "postgresql:///db?PASSWORD=***"),
        ("postgresql://:s3cret@h/db", "postgresql://:***@h/db"),
        ("postgresql://ann:s3@cr/e?t#@h/db", "postgresql://ann:***@h/db"),
        ("postgresql://ann:s3cret@[h/db", "postgresql://ann:***@[h/db"),
        ("postgresql://ann@h/db", "postgresql://ann@h/db"),
        ("postgresql://ann@h:5432/db?host=/tmp", "postgresql://ann@h:5432/db?host=/tmp"),
        ("postgresql://ann@[::1]:5432/db", "postgresql://ann@[::1]:5432/db"),
        ("postgres:ann:s3cret@h/db", "postgres:***@h/db"),
        ("postgresql:/ann:s3cret@h/db", "postgresql:***@h/db"),
        ("ann:s3cret@h/db", "ann:***@h/db"),
        ("//ann:s3cret@h/db", "//ann:***@h/db"),
        ("postgresql://ann@h:s3cret@i/db", "postgresql://ann@h:***@i/db"),
        ("postgresql://ann/b:s3cret@h/db", "postgresql://ann/b:***@h/db"),
        ("postgresql://ann:s3\ncret@h/db", "postgresql://ann:***@h/db"),
        ("postgresql://ann%3as3cret@h/db", "postgresql://ann:***@h/db"),
        ("postgresql://ann:s3cret%40h/db", "postgresql://ann:***%40h/db"),
        ("postgresql://h/db?p%61ssWord=s3cret", "postgresql://h/db?p%61ssWord=***"),
        ("postgresql://h/db?sslpassword=s3cret", "postgresql://h/db?sslpassword=***"),
        ("host=h password = 's3 cret' dbname=db", "host=h password = ***"),
        ("postgresql://ann:s3cret", "postgresql://ann:***"),
        ("postgresql://ann:s3cret/db", "postgresql://ann:***"),
        ("postgresql://ann:s3/cret?x=1", "postgresql://ann:***"),
        ("postgresql://ann:123456/db", "postgresql://ann:***"),
        ("postgresql://ann:12345678", "postgresql://ann:***"),
        ("postgresql://ann%3As3cret/db", "postgresql://ann:***"),
        ("postgresql://h:5432,ann:s3cret/db", "postgresql://h:5432,ann:***"),
        ("postgresql://h:5432/db", "postgresql://h:5432/db"),
        ("postgresql://h:5432", "postgresql://h:5432"),
        ("postgresql://h:5432,i:5433/db?x=a:b", "postgresql://h:5432,i:5433/db?x=a:b"),
        ("postgresql://[::1]:5432/db", "postgresql://[::1]:5432/db"),
        ("postgresql://[::1]:s3cret", "postgresql://[::1]:***"),
        ("postgresql:///db?host=/tmp:a", "postgresql:///db?host=/tmp:a"),
        ("postgresql:ann:s3cret", "postgresql:***"),
        ("mysql://ann:s3cret", "mysql://ann:***"),
        ("sqlite:///lab.db", "sqlite:///lab.db"),
        ("sqlite:///lab:5.db", "sqlite:///lab:5.db"),
    ],
)
def test_passwords_are_masked(url: str, shows: str) -> None:
    assert mask_password(url) == shows


@given(st.text(":@/?&=%a3\n ", max_size=12), st.text(":@/?&=%a3\n ", max_size=6), st.text(":@/?&=%a3\n ", max_size=12))
def test_nothing_between_a_colon_and_an_at_is_shown(before: str, between: str, after: str) -> None:
    """That of :// aside: what follows it may be a name."""
    if ":" not in before and between.startswith("//"):
        before += ":"
    for scheme in ("", "postgres:", "postgresql://"):
        assert "s3cret" not in str(mask_password(f"{scheme}{before}:{between}s3cret{after}@h/db"))
