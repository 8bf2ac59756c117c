"""Renderings: pure functions of results, a module each."""
