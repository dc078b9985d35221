"""The database of the control plane: connections, tables, migrations."""
