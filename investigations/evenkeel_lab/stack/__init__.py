"""Stacks of real services, each an async context manager: Postgres, Valkey, the mock provider and LiteLLM proxies."""
