"""The values of one exchange, and what is decided about them: stages, errors, records, texts, destinations."""
