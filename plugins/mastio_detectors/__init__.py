"""The plugin `detectors`: looks at every text of a request and of its reply for seven classes of content."""
