"""A database's address, as others write it and as the driver wants it."""

from __future__ import annotations

from litellm_evenkeel.postgres_address import arguments, is_pooled, place


def test_what_only_prisma_understands_is_left_out() -> None:
    told = arguments("postgresql://u:p%40@h:1/d?connection_limit=5&sslmode=require&pgbouncer=true")
    assert told == {"dsn": "postgresql://u:p%40@h:1/d?sslmode=require", "server_settings": {}}


def test_prismas_schema_is_the_search_path() -> None:
    assert arguments("postgresql://h/d?schema=my")["server_settings"] == {"search_path": '"my"'}
    assert arguments('postgresql://h/d?schema=a"b')["server_settings"] == {"search_path": '"a""b"'}


def test_a_pooler_is_named_as_prisma_wants_it() -> None:
    told = ("", "?pgbouncer=true", "?schema=x&pgbouncer=TRUE", "?pgbouncer=false")
    assert [is_pooled(f"postgresql://h/d{query}") for query in told] == [False, True, True, False]


def test_databases_are_told_apart_by_where_they_are_and_by_nothing_secret() -> None:
    same = {place(f"postgresql://{who}@h:1/d?sslmode={mode}") for who in ("u:p", "v:q") for mode in ("require", "off")}
    assert len(same) == 1
    others = {
        place(url) for url in ("postgresql://h:1/d", "postgresql://h:2/d", "postgresql://h:1/e", "postgresql://g:1/d")
    }
    assert len(others) == 4
    assert place("postgresql://[h/d") == place("postgresql://h:port/d")
