"""Prometheus metrics of the proxy: LiteLLM's own series at a fraction of their cost, and metrics of budgets."""
