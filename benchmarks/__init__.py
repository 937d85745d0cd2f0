"""What StreamLab costs: `make bench`, or `python -m benchmarks`. See docs/howto/benchmarks.md."""
