"""Limits of accounts: windows, headers and refusals."""
