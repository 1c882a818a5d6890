"""A recorded history played again under other settings, in virtual time."""
