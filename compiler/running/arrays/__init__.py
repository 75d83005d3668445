"""Arrays that a compiled program takes and gives: as rows of scalars, on a device, of other libraries, as results."""
