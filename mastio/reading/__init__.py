"""Finds the texts of bodies and streams, and puts replacements in their place. Pure: no dialect is known here."""
