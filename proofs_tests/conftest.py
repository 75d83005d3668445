"""What holds for all tests."""

from __future__ import annotations

import hypothesis

hypothesis.settings.register_profile("tests", deadline=None)  # a busy machine is no failure
hypothesis.settings.load_profile("tests")
