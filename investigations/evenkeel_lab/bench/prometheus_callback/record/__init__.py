"""Record the events that the real proxy sends to callbacks: `python -m ...prometheus_callback.record`."""
