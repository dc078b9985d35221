"""The log itself: entries, their order, the stores, archives."""
