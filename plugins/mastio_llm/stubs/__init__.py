"""Stand-ins for the upstreams that agents call, so that a demo, a test or a measurement needs no network.

They are programs of their own, started by `mastio stub-llm` and its like. The appliance never imports them.
"""
