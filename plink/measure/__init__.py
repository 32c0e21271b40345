"""Measuring hosts into a cluster file: probing, importing, drift."""
