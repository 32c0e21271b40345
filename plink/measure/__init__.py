"""Measurement of a whole cluster into a cluster file: probing, importing, drift."""
