"""Property tests draw the same examples every time, so that a red run is somebody's change and not the dice.

HYPOTHESIS_PROFILE=explore draws new ones; what it finds becomes an @example.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True)
settings.register_profile("explore", max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
