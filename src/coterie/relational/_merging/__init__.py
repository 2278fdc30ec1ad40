"""Merging records into entities: contexts, what keeps records apart, the bootstrap, the queue."""
