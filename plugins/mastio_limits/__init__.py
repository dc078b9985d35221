"""Limits: budgets of requests, tokens and USD, exact on any number of workers and replicas; concurrency of agents."""
