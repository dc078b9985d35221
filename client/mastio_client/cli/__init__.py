"""The verbs of an agent, one module each; `main` makes the command `mastio-client` of them."""
