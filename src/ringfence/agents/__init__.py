"""One module per agent: bytes on stdin to a ToolCall, a verdict to exactly that agent's answer (docs/adr/0004)."""
