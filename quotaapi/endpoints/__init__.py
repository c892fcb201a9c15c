"""HTTP to REST: one verb per file; what a request says, decoded, and what it is answered."""
