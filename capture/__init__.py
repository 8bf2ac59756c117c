"""dispatch-audit: what an agent really did after a person decided about its tool call."""
