"""Emissions: the density of items under each component, and its M-step."""
