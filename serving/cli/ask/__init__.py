"""The `ask` command: a request from the command line, to a server or to a model in this process."""
