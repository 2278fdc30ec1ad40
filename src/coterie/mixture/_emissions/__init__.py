"""What a component says about items."""
