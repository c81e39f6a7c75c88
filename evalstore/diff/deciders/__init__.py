"""What can be known of a change: proofs that it moves nothing, directions and bounds; else the rule's row holds."""
