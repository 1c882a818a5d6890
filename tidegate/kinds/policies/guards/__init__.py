"""Validation beyond the schemas: objects are refused with a message that names the field."""
