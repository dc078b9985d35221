"""HTTP on the way in: the route table, the edge, strict JSON, problem documents, OpenAPI."""
