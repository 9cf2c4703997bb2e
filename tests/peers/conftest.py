"""What stands here is run by the tests, and is none: it imports what only the environment of the peers has."""

collect_ignore = ["web3_client.py", "web3_sending.py"]
