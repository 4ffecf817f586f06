"""A small HTTP client: addresses, payloads, connections and server-sent events."""
