"""The choice of a provider for a call: candidates, prices, breakers."""
