"""Each file here takes the tables from one version to the next. They are never changed once they were released."""
