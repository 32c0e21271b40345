"""What training-overlap measures, a file each."""
