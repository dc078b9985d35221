"""The verbs that run an appliance on this host."""
