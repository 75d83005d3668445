"""Ways through a kernel that data decide on.  Read in this order:

choices    conditions by their parts, and whole numbers that are one of a few
paths      what must hold of data for a work-item to be where it is
conditions what is known of conditions there, and what variables hold where ways meet
accesses   who reaches a cell under a condition, and whether two do at once
ways       cells that are reached under conditions, and places that data choose
pointers   into one array or another
forks      branches, loops and functions that data decide on
on_inputs  the one way that some inputs take
"""
