"""The page: safe markup, tables, charts, style."""
