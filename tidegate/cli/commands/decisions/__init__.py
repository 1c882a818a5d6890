"""Commands that explain a decision, or decide again under other conditions."""
