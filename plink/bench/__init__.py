"""Run a real client in several rank orders and compare their times."""
