"""EM: the loop, the weights, the starts, what fitted mixtures share."""
