"""Collective algorithms as libraries run them: who sends how much to whom, and when."""
