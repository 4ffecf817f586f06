"""The `evenkeel investigate` command."""
