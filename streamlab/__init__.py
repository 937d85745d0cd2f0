"""The Django project: settings, routing, pages, and runs over websockets."""
