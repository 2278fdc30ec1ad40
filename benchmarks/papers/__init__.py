"""The tables of the sources, made again."""
