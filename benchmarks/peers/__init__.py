"""Races against other packages, on the same data, pairs and first centres."""
