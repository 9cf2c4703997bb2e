"""Models that the notebooks show: attacks, calldata pressure, price discovery, calldata or blobs, and when to post."""
