"""The verbs of the agent's side, from `mastio_client`."""
