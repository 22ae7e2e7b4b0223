"""What people look at: lines of text, the live display, and the HTML report."""

from assay.report.live import Plain, Terminal
from assay.report.pilot import pilot_lines
from assay.report.sysmon import sysmon_lines
from assay.report.text import Line, verdict_lines

__all__ = ["Line", "Plain", "Terminal", "pilot_lines", "sysmon_lines", "verdict_lines"]
