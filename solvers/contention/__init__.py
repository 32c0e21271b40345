"""What a collective takes where flows share links, and orders that share them well."""
