"""Which LiteLLM releases the plugin works with: what it needs of them, looked up in released wheels, and run."""
