"""Bad input: what reads requests, its seeds, random mutations of them, and every input that once found a defect."""
