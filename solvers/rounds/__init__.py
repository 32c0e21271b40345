"""Orders whose rounds are cheap: the search over `RoundsForm`."""
