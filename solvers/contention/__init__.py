"""Time of a collective whose flows share links, and orders that share them well."""
