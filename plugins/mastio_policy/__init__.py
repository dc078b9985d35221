"""Authorizes every action of an agent with Cedar policies: parsed once, default deny, one forbid wins."""
