"""What Prometheus is told of the proxy: LiteLLM's own series, counted at a fraction of their cost."""
