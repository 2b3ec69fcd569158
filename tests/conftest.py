"""Settings that every test shares."""

import os

from hypothesis import settings

# Before numpy is imported: with two BLAS threads each, two test processes on two cores are many times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")  # pictures are drawn without a screen

settings.register_profile("belated", deadline=None, print_blob=True)
settings.register_profile("belated-ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("belated-ci" if os.environ.get("CI") else "belated")
