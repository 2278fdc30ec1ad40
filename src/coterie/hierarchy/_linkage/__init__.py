"""Merging under vetoes: a matrix, edges, neighbours or a k-d tree."""
