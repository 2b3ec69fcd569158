"""Which settings would have served a study best, in a world made of its own belief and delays."""
