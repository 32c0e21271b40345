"""Orders whose farthest two neighbours are as near as can be, and among those the cheapest."""
