"""What work-items of a group do together.

copies      the copies that a group makes, and what waits for them
together    values of all work-items of a group or a sub-group
sub_groups  the numbers of work-items in sub-groups
launched    a launch: all groups, and what the kernel is given
"""
