"""Diagnosis of a recorded load: what limited it (provider, proxy or rig), and the evidence for that."""
