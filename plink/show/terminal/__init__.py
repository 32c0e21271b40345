"""Printing of plink's files, predictions and results on the terminal."""
