"""`belated serve` and `belated token`."""
