"""The process: models by name, scheduling, readiness, metrics, HTTP, command line."""
