"""What drop-ins that learn row by row share: passes over the rows, and when to end them."""

from .passes import OnlineRule

__all__ = ["OnlineRule"]
