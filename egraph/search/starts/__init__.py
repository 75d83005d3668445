"""What search starts from: the program in other forms, cut at sizes that do not divide, or kernel by kernel."""
