"""`python -m bench.mini`."""

import sys

from bench.mini.command import main

if __name__ == "__main__":
    sys.exit(main())
