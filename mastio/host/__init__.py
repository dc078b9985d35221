"""The parts of one process, and what the processes of a host share: memory, threads, metrics, log files."""
