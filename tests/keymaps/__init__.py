"""Tests of the keymaps."""
