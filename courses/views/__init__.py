"""Pages of accounts and courses. They call services and selectors, and know no model."""
