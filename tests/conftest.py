"""Lets the tests in every folder below import the helper modules that lie in this one."""
