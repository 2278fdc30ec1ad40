"""Time and memory at large sizes."""
