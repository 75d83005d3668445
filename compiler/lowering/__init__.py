"""What a low-level term may contain, which kernels and work-items it needs, and where its arrays lie."""
