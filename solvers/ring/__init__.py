"""Ring orders: search, proven bound, and the plain Python twin they must equal."""
