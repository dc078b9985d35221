"""The connections: their bodies, secrets, credentials, and those in force."""
