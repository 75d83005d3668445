"""Saturation in a child process that a budget can end, and several searches at once.

children          child processes that know some rules, and wait for who needs one
saturation        rules in stages, in a child process
saturation_child  that process, which alone runs egglog
workers           the jobs of one search, each in a process
"""
