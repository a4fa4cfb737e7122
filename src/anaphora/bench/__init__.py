"""Benchmarks: each question about speed is one module, and its answer is kept with what it was measured on.

A question is asked with sizes and a seed; it makes databases of its own in a folder that is given, and gives figures.
Absolute figures speak of one machine. Where the answer should hold on any machine, it is a ratio of two figures of the
same run.
"""
