"""What held a recorded load back: upstream or local, which process, which lock, and why."""
