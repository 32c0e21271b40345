"""What servers, workers and administrators say to each other besides numbers, and who may."""
