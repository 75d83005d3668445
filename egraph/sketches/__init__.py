"""Goals of a search: programs that are written only in part."""
