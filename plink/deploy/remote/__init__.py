"""Work on the hosts of a cluster file over SSH, and starting ranks there with a launcher."""
