"""What a person looks at: the terminal and the page."""
