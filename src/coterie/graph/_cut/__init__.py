"""Affinities of items, and the search for a small cut within bounds on sizes."""
