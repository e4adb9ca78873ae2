"""One file an architecture: its config, its modules, its forward."""
