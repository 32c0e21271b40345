"""Orders that minimise the greatest distance between communicating ranks, then the cost."""
