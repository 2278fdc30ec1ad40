"""Probabilities of labels under what is known: the network and its inferences."""
