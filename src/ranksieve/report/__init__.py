"""Tables, figures and report pages of results."""
