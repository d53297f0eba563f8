"""One file per family of verbs. Each has `register(app)`, which adds its commands, and imports
nothing heavy before they run.
"""
