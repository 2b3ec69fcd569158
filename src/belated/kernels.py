"""Kernels on the unit cube.

>>> from belated import kernels
>>> kernels.SE(0.2).variance
1.0
"""

from belated.learner.gp.kernels import SE, Kernel, Matern12, Matern32, Matern52, Product, Radial

__all__ = ["SE", "Kernel", "Matern12", "Matern32", "Matern52", "Product", "Radial"]
