"""Benchmarks of a running or freshly started server."""
