"""Enrolment: requests of agents, decisions of operators, EST."""
