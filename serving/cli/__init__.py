"""The `vela` command."""
