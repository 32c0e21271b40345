"""Ring orders: search, proven bound, and the plain Python twin that both must equal."""
