"""Deterministic mock of OpenAI and Anthropic, with latency, limits and faults on demand."""
