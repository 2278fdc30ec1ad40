"""What broken pairs cost where that depends on distances and centres."""
