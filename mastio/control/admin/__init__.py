"""Administration: admins, agents, keys, holds, and the objects of collections."""
