"""What every request passes through before it reaches an endpoint; `chain` has the order."""
