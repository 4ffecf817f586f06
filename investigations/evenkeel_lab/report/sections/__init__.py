"""Sections of a page, one per module. Each is a function of the report data and the plots."""
