"""Which settings would have been best for a study, simulated from its own belief and delays."""
