"""A bundle for other tools: tidy tables, frames for notebooks, Markdown, and charts as files."""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.export.charts import chart_names, draw
    from assay.export.frames import BundleFrames, bundle_frames
    from assay.export.tables import (
        TABLES,
        Columned,
        markdown_of,
        table_of,
        write_csv,
        write_parquet,
    )

__getattr__, __dir__ = lazily(
    __name__,
    charts="chart_names draw",
    frames="BundleFrames bundle_frames",
    tables="TABLES Columned markdown_of table_of write_csv write_parquet",
)

__all__ = [
    "TABLES",
    "BundleFrames",
    "Columned",
    "bundle_frames",
    "chart_names",
    "draw",
    "markdown_of",
    "table_of",
    "write_csv",
    "write_parquet",
]
