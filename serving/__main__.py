"""Runs the `vela` command as `python -m serving`."""

import sys

from serving.cli import main

sys.exit(main())
