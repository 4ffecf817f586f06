"""Composition of the plugin's parts in a running proxy."""
