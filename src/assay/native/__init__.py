"""The one door to `assayer`, the native binary: starting it, asking it, reading its lines.

The wire format is specified in `protocol.rs`; its reader types are in `messages`. Names are
imported when they are first asked for: the types take longer to import than a request needs.
"""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.native.messages import (
        Abilities,
        Ability,
        Answers,
        Census,
        Checked,
        Clock,
        Contention,
        CpuShare,
        DataState,
        Facts,
        Failure,
        FixtureServers,
        Function,
        Health,
        HintCost,
        HitsTable,
        Htm,
        HugePool,
        ImageCensus,
        ImageCoverage,
        ImageFacts,
        ImageHelper,
        ImageHints,
        ImageSite,
        JobExecution,
        JobResult,
        KindResult,
        Loading,
        LoadResult,
        Made,
        Memory,
        Message,
        ObjectFile,
        ObjectReference,
        ObjectSymbol,
        ProfileResult,
        Ran,
        Ready,
        RefusedFile,
        RefusedRequests,
        Rows,
        RunPhase,
        RunResult,
        Sample,
        Sampled,
        SampledFunction,
        SampledStack,
        Served,
        ServerUsage,
        State,
        StoreOptions,
        Surveyed,
        Thp,
        ThreadResult,
        WindowInterval,
    )
    from assay.native.process import NAME, find_assayer
    from assay.native.session import (
        Session,
        as_error,
        ask,
        ask_server,
        census,
        counted_instructions,
        facts,
        functions_named,
        objects,
        parse,
        survey,
        surveyed,
    )

__getattr__, __dir__ = lazily(
    __name__,
    messages=(
        "Abilities Ability Answers Census Checked Clock Contention CpuShare DataState "
        "Facts Failure Function Health HintCost HitsTable Htm HugePool ImageCensus "
        "ImageCoverage ImageFacts ImageHelper ImageHints ImageSite JobExecution JobResult "
        "WindowInterval KindResult LoadResult Loading Made Memory Message ObjectFile "
        "ObjectReference ObjectSymbol RunPhase ProfileResult SampledFunction SampledStack Ran "
        "Ready RefusedRequests RefusedFile "
        "RunResult Rows Sample Sampled Served ServerUsage FixtureServers State StoreOptions "
        "Surveyed Thp ThreadResult"
    ),
    process="NAME find_assayer",
    session=(
        "Session as_error ask ask_server census counted_instructions facts functions_named "
        "objects parse survey surveyed"
    ),
)

__all__ = [
    "NAME",
    "Abilities",
    "Ability",
    "Answers",
    "Census",
    "Checked",
    "Clock",
    "Contention",
    "CpuShare",
    "DataState",
    "Facts",
    "Failure",
    "FixtureServers",
    "Function",
    "Health",
    "HintCost",
    "HitsTable",
    "Htm",
    "HugePool",
    "ImageCensus",
    "ImageCoverage",
    "ImageFacts",
    "ImageHelper",
    "ImageHints",
    "ImageSite",
    "JobExecution",
    "JobResult",
    "KindResult",
    "LoadResult",
    "Loading",
    "Made",
    "Memory",
    "Message",
    "ObjectFile",
    "ObjectReference",
    "ObjectSymbol",
    "ProfileResult",
    "Ran",
    "Ready",
    "RefusedFile",
    "RefusedRequests",
    "Rows",
    "RunPhase",
    "RunResult",
    "Sample",
    "Sampled",
    "SampledFunction",
    "SampledStack",
    "Served",
    "ServerUsage",
    "Session",
    "State",
    "StoreOptions",
    "Surveyed",
    "Thp",
    "ThreadResult",
    "WindowInterval",
    "as_error",
    "ask",
    "ask_server",
    "census",
    "counted_instructions",
    "facts",
    "find_assayer",
    "functions_named",
    "objects",
    "parse",
    "survey",
    "surveyed",
]
