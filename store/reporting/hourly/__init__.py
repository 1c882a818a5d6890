"""What each hour came to: usage while it lasts, and quota once it is over."""
