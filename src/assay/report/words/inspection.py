"""An inspection in words: severities, and what kind of file each is."""

from __future__ import annotations

from assay.readiness.census import Image

WORDS = {
    "S1": "silently wrong or unreachable",
    "S2": "likely measurable under contention",
    "S3": "advice",
    "I": "a fact",
}


def image_lines(image: Image) -> list[str]:
    """What kind of file it is, how much of it was understood, and what was counted."""
    about = [image.arch, image.kind]
    about += ["stripped"] if image.stripped else []
    about += [image.language] if image.language else []
    if image.coverage:
        covered = 100 * float(image.coverage.get("covered", 0))
        about.append(
            f"{int(image.coverage.get('text_bytes', 0)):,} bytes of code, {covered:.1f} % covered "
            f"by {image.coverage.get('by', 'none')}"
        )
    counted = [f"{name} {count:,}" for name, count in image.counts.items() if count]
    lines = [", ".join(about), "  ".join(counted) or "nothing counted"]
    if any(image.unverified.values()):
        unverified = "  ".join(f"{n} {c:,}" for n, c in image.unverified.items() if c)
        lines.append(f"outside known functions, perhaps data: {unverified}")
    for kind, count in (image.facts.get("cut") or {}).items():
        lines.append(f"{count:,} places of the kind {kind}, of which not all are judged")
    return lines
