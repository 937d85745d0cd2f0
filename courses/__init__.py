"""People and courses: accounts, who is in which course, which labs a course has released, what counts."""
