"""Tables of built-in models: repositories, pinned revisions and the digests of their files."""
