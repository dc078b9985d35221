"""What takes the place of a value, and how it comes back."""
