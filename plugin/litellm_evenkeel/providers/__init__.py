"""Failures, limits and usage, as read from the responses and errors of providers."""
