"""Ways through a kernel that data decide on.  Read in this order:

choices    conditions by their parts, and whole numbers that are one of a few
paths      what must hold of data for a work-item to be where it is, and what variables and cells hold where ways meet
on_inputs  the one way that some inputs take
"""
