"""Groups of hosts that are near each other (Luo 2020, §4.2.1)."""
