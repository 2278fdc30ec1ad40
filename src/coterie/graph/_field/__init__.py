"""Lengths of edges bent by constraints, and distances along several disjoint paths."""
