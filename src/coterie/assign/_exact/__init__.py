"""Labels by integer and linear programs."""
