"""What confirms a value: check digits, numbering plans, tables."""
