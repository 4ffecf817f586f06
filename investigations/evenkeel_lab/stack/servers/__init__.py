"""Servers that a proxy needs: Postgres, Valkey and the mock provider."""
