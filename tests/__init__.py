"""The tests mirror capture/; what they share is in miniatures.py and conftest.py."""
