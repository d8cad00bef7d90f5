"""ringfence: a filesystem sandbox and path fence for AI coding agents."""

__version__ = "0.1.0"
