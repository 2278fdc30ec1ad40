"""What was asked: read, checked, fitted, saved."""
