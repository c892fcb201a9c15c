"""OpenAPI documents of declared kinds: `documents` makes them, `gnostic` packs the second version."""
