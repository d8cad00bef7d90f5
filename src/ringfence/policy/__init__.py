"""Policy text to Policy: every rule knows the file and line it stands on."""
