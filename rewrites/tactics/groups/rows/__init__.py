"""Schedules for the rows that maps go through on a GPU, and for the folds of each row.

by_groups       a group has a row, and its members share every loop over it; short rows that give a number, several
side_by_side    a group has several short rows, each a few of its members
in_lanes        a work-item has several rows or columns, in the lanes of its vectors
whole_turns     folds and maps go on beyond their end, so that members share them evenly
"""
