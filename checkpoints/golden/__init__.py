"""Stored reference answers to readiness requests: the files of this folder and what is read from them."""

from checkpoints.golden.files import Entry, GoldenFileError, add_entry, read_entries, to_text
from checkpoints.golden.references import Expected, Reference, References, packaged

__all__ = [
    "Entry",
    "Expected",
    "GoldenFileError",
    "Reference",
    "References",
    "add_entry",
    "packaged",
    "read_entries",
    "to_text",
]
