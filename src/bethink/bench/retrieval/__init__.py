"""Retrieval on published data: how much of a question's evidence is found, beside others in the same run.

questions   data sets as cases: a conversation, and questions whose evidence is known by name
systems     who is asked: bethink, and plain BM25, dense and RRF; `peers`: LangGraph, Chroma, mem0
vectors     an embedder whose work is kept in a file
run         asking everybody everything
metrics     how good a ranking is: pure functions
figures     what an answer is worth, means of many
threshold   what a threshold keeps quiet, and what it costs
report      one object for all of it; tables, a plot, and the part of a document that they are written to
command     the command line that `bench.locomo`, `bench.longmemeval` and `bench.beam` share
"""
