"""One rule for one operation each; what they look up comes through `lookups`."""
