"""Results as one HTML page that needs nothing else: the table of verdicts, every case with its pictures, every claim."""

from capture.render.report.page import page

__all__ = ["page"]
