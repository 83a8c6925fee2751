"""What families of selectors share: steps, held-out queries, searches, checkpoints."""
