"""Terms as text, and the text back as terms."""
