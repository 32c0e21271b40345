"""What scripts/soak is made of: what ranks do, what must come of it, and who watches them."""
