"""Where the texts of bodies and streams are, and how others are put in their place. Pure: no dialect is known here."""
