"""Less work for each request of a proxy: changes to LiteLLM that keep its decisions, each with a switch."""
