"""Running what a student wrote, and judging it. Nothing here knows pages, models or Django."""
