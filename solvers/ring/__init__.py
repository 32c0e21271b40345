"""Search for short rings with a proven bound, and its plain Python reference."""
