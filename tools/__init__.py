"""What `make lint` needs beside the linters themselves."""
