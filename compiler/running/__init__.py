"""Compiled programs: built, launched, run, timed, kept in folders."""
