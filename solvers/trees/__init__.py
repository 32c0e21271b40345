"""Orders whose trees are shallow: the search over `TreesForm`."""
