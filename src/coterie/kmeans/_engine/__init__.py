"""The loop of all prototype methods: starts, half-steps, what fitted models share."""
