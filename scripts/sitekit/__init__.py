"""The documentation as a site: what it has beside the pages in docs/."""
