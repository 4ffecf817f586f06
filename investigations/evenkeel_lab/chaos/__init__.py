"""Faults of everything around a proxy, each while requests come in, with the plugin and without it."""
