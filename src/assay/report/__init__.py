"""What people look at: `words` makes sentences, `terminal` prints them, `html` makes pages."""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.report.terminal.bisection import search_lines
    from assay.report.terminal.profiled import profile_lines
    from assay.report.terminal.sysmon import sysmon_lines
    from assay.report.terminal.verdicts import measuring_lines, verdict_lines
    from assay.report.words.limits import limit_lines
    from assay.report.words.line import Line

__getattr__, __dir__ = lazily(
    __name__,
    **{
        "words.line": "Line",
        "words.limits": "limit_lines",
        "terminal.bisection": "search_lines",
        "terminal.profiled": "profile_lines",
        "terminal.sysmon": "sysmon_lines",
        "terminal.verdicts": "measuring_lines verdict_lines",
    },
)

__all__ = [
    "Line",
    "limit_lines",
    "measuring_lines",
    "profile_lines",
    "search_lines",
    "sysmon_lines",
    "verdict_lines",
]
