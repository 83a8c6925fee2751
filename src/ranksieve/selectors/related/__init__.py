"""Methods that exist so that papers can be compared: reconstructions and variants.

Nothing outside this package imports it: what these methods share with the others is in the other
rooms, and what only they use is here.
"""
