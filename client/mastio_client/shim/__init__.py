"""The shim: a plain-HTTP listener on the loopback. Its callers act as the agent. Start reading at `server`."""
