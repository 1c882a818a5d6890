"""What servers share that answer over HTTP."""
