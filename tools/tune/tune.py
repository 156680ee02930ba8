#!/usr/bin/env python3
"""What `mercutio tune` runs: tune.py MERCUTIO [options] [-- command]. See docs/users/tuning.md."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mercutio_tune.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
