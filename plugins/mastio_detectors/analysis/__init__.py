"""What a text is suspected of: words, shapes, scores."""
