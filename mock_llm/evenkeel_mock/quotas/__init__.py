"""Limits of accounts: windows, headers and rejections."""
