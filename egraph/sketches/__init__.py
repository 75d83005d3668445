"""Goals of a search: programs that are written only in part.

language  programs that are written only in part
search    members of a graph that are like one
"""
