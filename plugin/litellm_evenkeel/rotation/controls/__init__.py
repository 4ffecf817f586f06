"""Controls of operators: their table in each worker, and their copies in the other workers."""
