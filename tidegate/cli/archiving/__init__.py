"""Old events that leave the database for files: whole parts, proven on disk before they go."""
