"""A journal of requests: one record each, written in batches by a thread of its own, to SQLite or Postgres."""
