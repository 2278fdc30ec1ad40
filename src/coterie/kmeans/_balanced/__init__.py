"""K-means with balanced clusters."""
