"""Host lists and addresses."""
