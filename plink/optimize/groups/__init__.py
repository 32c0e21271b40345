"""Groups of near hosts, and how certain they are."""
