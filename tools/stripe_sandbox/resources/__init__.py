"""Handlers of the API calls, one module for each kind of object.

A handler takes the context, the checked parameters and the ids in the path, and returns JSON.
"""
