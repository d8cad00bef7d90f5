"""`python -m ringfence`."""

from __future__ import annotations

import sys

from ringfence.doors import main

if __name__ == "__main__":
    sys.exit(main())
