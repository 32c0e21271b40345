"""What `scripts/bench hub` measures: the parameter service beside all-reduces."""
