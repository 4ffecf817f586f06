"""Commands for the accounts of a running proxy."""
