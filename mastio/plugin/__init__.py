"""The plugin contract: `Plugin`, `Hooks`, `Services`, `Collection`; how plugins are found and opened."""
