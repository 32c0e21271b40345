"""The parts of scripts/soak: the ranks' steps, the expected results, and the watch over them."""
