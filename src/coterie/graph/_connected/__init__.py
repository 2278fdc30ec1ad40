"""Clusters that hang together on a graph: growth from seeds, reaching distances, regions within bounds."""
