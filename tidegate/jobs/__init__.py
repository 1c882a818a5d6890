"""One module a job kind: what is observed of it, and how it is started and stopped."""
