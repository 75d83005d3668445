"""Extraction: the best low-level programs of an e-graph, one per plan.

Which map becomes a loop, work-items or work-groups depends on where it stands, which no e-class knows.  So
extraction is a dynamic programme over (e-class, what is wanted of it, where), and at every node it chooses
among the lowering rules that the place allows.  It keeps the cheapest term of each *plan*: the nest of
loops, thread dimensions, vectors and buffers.  Terms that differ only in layout noise share a plan, so the
candidates differ in what matters for speed.

What is wanted of an e-class:

    View       data to index into: rearranged inputs, buffers, and values computed once before
    Layout     data that is only rearranged, as the body of a map that stays a map
    Value      a scalar, vector or tuple in registers
    Write      an array, computed into memory that the place provides
    Start      the first value of an accumulator, written into registers of its own
    Inverse    a rearrangement of one variable, which a write can follow backwards

states.py holds these and what answers them, nodes.py what the nodes of the e-graph are capable of, options.py what each
can be where it is read (reading.py) or written (writing.py), extractor.py the dynamic programme, known.py what is
found once for all terms of a search.
"""
