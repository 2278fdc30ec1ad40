"""Files read and written, format by format."""
