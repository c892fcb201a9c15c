"""Objects by key and revision. Knows no HTTP, no user, no kind and no reason for a write."""
