"""Time of collectives whose flows share links, and search for orders that minimise it."""
