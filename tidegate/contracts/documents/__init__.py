"""The contracts as documents for other tools: AsyncAPI and JSON Schema."""
