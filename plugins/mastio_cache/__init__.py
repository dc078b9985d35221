"""The plugin `cache`: answers a question that was answered before from memory, to whom it was answered."""
