"""The content type of server-side apply: users send it, and no service does."""

APPLY_PATCH = "application/apply-patch+yaml"
