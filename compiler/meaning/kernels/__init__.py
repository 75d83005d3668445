"""What a kernel's text does where numbers are not known.

tables       arrays that are updated where data say
alike        the one form of the values that many cells have
memory       arrays at indices that are not known
loops        a kernel's text as Python, in which a loop may be run once for all its turns
shared       what is left of a kernel when only local memory matters
group        runs a work-group, or one work-item, that stands for all
"""
