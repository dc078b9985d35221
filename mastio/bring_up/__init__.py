"""`mastio up` and its like: settings of a new appliance, its start, the demo."""
