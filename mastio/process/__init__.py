"""The processes of an appliance: supervisor, fork server, workers, and the composition root."""
