"""The cheapest features that are shown to be enough."""
