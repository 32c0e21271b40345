"""Import of other programs' measurements as clusters."""
