"""Several clients and plans, in several sizes, against one another in one bench."""
