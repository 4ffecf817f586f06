"""How the parts of the plugin are put together in a running proxy."""
