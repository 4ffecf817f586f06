"""A journal of requests: a row each, written in batches by a thread of its own, to SQLite or Postgres."""
