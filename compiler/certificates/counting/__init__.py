"""What is known of a kernel's accesses by counting them.

instances   how often an access is made
enumerated  which cells accesses of local memory are made to, one after the other
coverage    whether all is written, and before it is read
"""
