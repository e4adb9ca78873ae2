"""The `bench` command: hands over to the benchmarks of this project."""

from __future__ import annotations

import argparse

from serving.cli.environment import prepare_environment


def run(arguments: argparse.Namespace) -> int:
    """Run a benchmark."""
    prepare_environment()
    from bench.cli import run as run_benchmark

    return run_benchmark(arguments)
