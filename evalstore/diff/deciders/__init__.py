"""What can be known of a change: proofs that it moves nothing, of judges and juries."""
