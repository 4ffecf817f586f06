"""LiteLLM: its environment, its configuration, its schema, and the running proxy."""
