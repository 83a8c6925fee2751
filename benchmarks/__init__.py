"""Side-by-side measurements against the tools that a user would otherwise pick."""
