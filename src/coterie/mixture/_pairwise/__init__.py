"""The search of `PairwiseClustering`."""
