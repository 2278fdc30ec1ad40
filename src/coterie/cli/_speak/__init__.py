"""What the command says, and how it fails."""
