"""Modules that run inside a measured proxy. The lab does not import them, except for names of files."""
