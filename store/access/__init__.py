"""Who may connect to the database, and how."""
