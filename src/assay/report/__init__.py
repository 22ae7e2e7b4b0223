"""What people look at: lines of text, and the HTML report."""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.report.line import Line
    from assay.report.profiled import profile_lines
    from assay.report.sysmon import sysmon_lines
    from assay.report.text import verdict_lines

__getattr__, __dir__ = lazily(
    __name__,
    line="Line",
    profiled="profile_lines",
    sysmon="sysmon_lines",
    text="verdict_lines",
)

__all__ = [
    "Line",
    "profile_lines",
    "sysmon_lines",
    "verdict_lines",
]
