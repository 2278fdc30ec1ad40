"""COBWEB: its score, its tree, nominal and numeric columns."""
