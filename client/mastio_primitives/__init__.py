"""Parts that the agent's side and the appliance share: formats, keys, files, small parts of servers and commands.

It imports neither of them. The data plane loads it, so it imports no HTTP client.
"""
