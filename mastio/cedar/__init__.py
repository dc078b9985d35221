"""Cedar, as the appliance uses it: what policies may speak of, and whether a source is one that can be loaded.

The core judges sources when they are written, the policy plugin when it loads them, both by these same modules.
Deciding is the plugin's.
"""
