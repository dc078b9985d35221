"""`mastio policy`: policies and their checks."""
