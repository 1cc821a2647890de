"""Methods side by side at one budget: from finished runs to one table, plain data throughout."""
