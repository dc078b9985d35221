"""The shim: a plain-HTTP listener on the loopback, whose callers are the agent. `server` says how a call goes."""
