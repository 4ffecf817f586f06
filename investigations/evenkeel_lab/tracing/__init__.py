"""Traces of requests inside a proxy: what each of them waited for."""
