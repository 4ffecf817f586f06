"""Admin API of a running worker: its accounts, an explanation of a pick, the release of an account."""
