"""What is laid beside a proxy that is measured; nothing here is imported by the lab."""
