"""Forests that aggregate: who sends chunks to whom, and how much of the buffer goes which way."""
