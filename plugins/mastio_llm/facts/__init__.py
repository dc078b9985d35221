"""The facts of a call that policies can read."""
