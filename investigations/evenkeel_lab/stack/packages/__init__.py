"""Programs and packages that are installed on demand."""
