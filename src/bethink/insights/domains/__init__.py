"""Profiles by domain: what a template is (`template`), those that are there (`catalogue`), what people give instead (`given`),
how people say what domains ask for (`wordings`), and a profile laid out by one (`sectioned`, `filled`).
"""
