"""Points that fill a cube evenly, one after the other."""

from __future__ import annotations

import numpy as np

from belated.learner.arrays import Array


def kronecker(start: int, count: int, d: int, shift: Array) -> Array:
    """Points start, start + 1, … of a Kronecker sequence in [0, 1)^d: u_n = frac(shift + n α), α_j = φ_d^-j.

    φ_d is the root of φ^(d+1) = φ + 1 (the golden ratio for d = 1); any part of it fills the cube evenly."""
    phi = 2.0
    for _ in range(60):
        phi = (1.0 + phi) ** (1.0 / (d + 1.0))
    alpha = phi ** -np.arange(1.0, d + 1.0)
    return np.asarray((shift + np.arange(start, start + count)[:, None] * alpha) % 1.0)
