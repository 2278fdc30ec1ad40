"""Columns: what they look like, and the numbers made of them."""
