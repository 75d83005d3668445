"""Functions of OpenCL C that are others written shortly, as expressions of these.

whole_numbers  what saturates, joins and parts whole numbers, and asks their highest bits
floats         products of vectors
"""
