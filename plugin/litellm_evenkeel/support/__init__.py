"""Helpers without domain knowledge. The only module of the plugin that they import is `errors`."""
