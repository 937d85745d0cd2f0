"""What runs inside the sandbox. Only Python's own library is imported here: nothing else of this project gets in."""
