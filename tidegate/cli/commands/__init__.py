"""One file for each command, or for each part of one."""
