"""The control plane: enrolment, administration and discovery. `application.build` makes it; `routes` lists its routes.

This package imports nothing, so that a program that only needs the route table does not load the web framework.
"""
