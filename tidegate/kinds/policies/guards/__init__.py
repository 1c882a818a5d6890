"""What the schemas cannot say: objects that are refused with a sentence that names the field."""
