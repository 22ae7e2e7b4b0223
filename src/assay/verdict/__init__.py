"""From a plan and its blocks to verdicts: the rows of `verdicts.json`, and how they are ruled."""
