"""What the server does unasked."""
