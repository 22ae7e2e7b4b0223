"""What `assayer` says: the messages of the native protocol, as types that refuse unknown fields.

They are declared apart from the Rust side's, so that a silent change of either breaks a test.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """The base of every message's data: unknown fields are an error."""

    # A type is built when the first message of it comes: most commands read a few of them.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False)


class Memory(Message):
    """Pages behind the data's own mapping, in bytes, read from smaps; None where it has none."""

    bytes: int | None = None
    anon_huge_bytes: int | None = None
    private_hugetlb_bytes: int | None = None
    eligible_bytes: int | None = None
    kernel_page_bytes: int | None = None
    rss_bytes: int | None = None
    page_table_bytes: int | None = None


class Ready(Message):
    """The server is loaded; `manifest` is what it really selected and obtained."""

    verb: str
    pid: int
    build_id: str
    manifest: dict[str, Any]


class Checked(Message):
    """A request with `check_only` could be met; nothing was loaded."""


class RunPhase(Message):
    """The run enters load, warmup, measure or stop."""

    name: Literal["load", "warmup", "measure", "stop"]


class SliceUse(Message):
    """CPU seconds that a slice took; `rest_cpu_s` is what the server took in the `rest_s` seconds
    since its slice before. `early`: operations that ended in each millisecond of the lead;
    `calibration`: how fast the machine was around it (buffers hashed in a microsecond)."""

    turn: int
    early: list[int] = []
    server_cpu_s: float | None
    rest_s: float | None = None
    rest_cpu_s: float | None
    calibration: float | None = None
    foreign_cpu_s: float
    steal_s: float
    drain_ms: float


class WindowInterval(Message):
    """One stretch of the window; `histogram` is HdrHistogram V2, deflated, base64, in ns.

    `slice`: where runs are made of slices, this stretch is one; it has no histogram of its own.
    """

    index: int
    start_ms: float
    length_ms: float
    operations: int
    errors: int
    histogram: str
    slice: SliceUse | None = None


class Health(Message):
    """Whether the load could be trusted; shares are fractions, CPUs are CPUs' worth."""

    loader: Literal["in-process", "client"]
    busiest_thread: float | None
    late_sends: float | None
    asked_per_s: float | None
    achieved_per_s: float
    server_idle: float
    foreign_cpu: float
    steal: float
    clock_step_ms: float


class KindResult(Message):
    operations: int
    histogram: str


class ThreadResult(Message):
    cpu: int | None
    operations: int
    cpu_s: float


class Contention(Message):
    """A lock class over the window, summed over threads."""

    grabs: int
    waits: int
    spins: int
    wait_s: float


class Made(Message):
    """The census of a function that was compiled at run time, and is in no file."""

    symbol: str
    instructions: int
    counts: dict[str, int]


class Ran(Message):
    """A function that was really called, at its address in the file unless it was `made`."""

    role: str
    address: str
    calls: int
    made: Made | None = None


class CpuShare(Message):
    """How one CPU spent the window; fractions."""

    cpu: int
    busy: float
    user: float
    system: float
    softirq: float
    steal: float


class JobExecution(Message):
    """One execution of a command; `code` is None where a signal ended it."""

    wall_ns: int
    user_us: int
    system_us: int
    max_rss_bytes: int
    code: int | None
    signal: int | None
    output: str | None
    output_bytes: int


class JobResult(Message):
    """All executions of a run, and those of an empty process beside its window."""

    complete: bool
    window_s: float
    executions: list[JobExecution]
    empty: list[JobExecution]
    histogram: str
    cpus: list[CpuShare]
    server: ServerUsage | None = None
    """Where the command is a generator of load on one."""


class State(Message):
    records: int | None = None
    checksum_ok: bool
    faults: list[str] = []


class RefusedRequests(Message):
    """Requests that a server refused with one code; `message` is the first one's."""

    kind: str
    code: str
    message: str
    count: int


class LoadResult(Message):
    """What is said of load on a server; histograms as everywhere, in ns."""

    connections: int
    tls: str | None
    """Version and cipher suite; None without TLS."""
    service: str
    lateness: str
    cpu_us_per_operation: float
    ended_by: str | None
    errors: list[RefusedRequests] = []


class ServerUsage(Message):
    """What a server's processes used over the window, and the memory they hold after it."""

    cpu_s: float
    rss_bytes: int
    pss_bytes: int | None
    processes: int
    voluntary_switches: int
    involuntary_switches: int


class RunResult(Message):
    """What an `engine`, `micro`, `store` or `load` run measured; measuring takes
    `overhead_ns_per_operation` of an operation's time, None where that is not the server's."""

    complete: bool
    window_s: float
    operations: int
    errors: int
    latency_of: str
    overhead_ns_per_operation: float | None = None
    by_kind: dict[str, KindResult]
    histogram: str
    threads: list[ThreadResult]
    contention: dict[str, Contention]
    lookups: dict[str, int]
    counters: dict[str, int] = {}
    executed: int
    ran: list[Ran]
    memory: Memory
    cpus: list[CpuShare]
    state: State
    load: LoadResult | None = None
    server: ServerUsage | None = None


class FixtureServers(Message):
    """Small servers that answer from now on, one on each port of loopback."""

    pid: int
    ports: list[int]


class Served(Message):
    """They have ended."""


Rows = list[list[str | None]]
"""Rows of columns as texts; None is NULL."""


class Answers(Message):
    """What a server answered: the rows of each question."""

    answers: list[Rows]


class Loading(Message):
    """How far a server's data are loaded, in rows."""

    rows: int
    of: int


class DataState(Message):
    """A server's data after they were made, checked or removed, and what is wrong with them."""

    rows: int
    seconds: float
    faults: list[str]


class HitsTable(Message):
    """The table of the workload `hits`: its statements, and the file if its rows were written."""

    complete: bool
    rows: int
    bytes: int
    seconds: float
    create: str
    queries: dict[str, str]


class StoreOptions(Message):
    """What a library of a store is by default: its version, and its settings as texts."""

    version: str
    options: dict[str, str]


class Sample(Message):
    """A reading of `sample`: by counter of the manifest, growth since `ready`, or a state.

    None where it was not read this time, or could not be; `mark` is the number of the mark that
    asked for it.
    """

    at_s: float
    mark: int | None
    values: list[int | None]


class Sampled(Message):
    """A sampler has ended; `cpu_s` is what it used."""

    complete: bool
    seconds: float
    samples: int
    cpu_s: float


class SampledFunction(Message):
    """A function that was sampled; `module` is the file it is in, without its folder."""

    name: str
    module: str


class SampledStack(Message):
    """A chain of calls, outermost first, as places in the functions, and its samples."""

    frames: list[int]
    count: int


class ProfileResult(Message):
    """What `profile` sampled between its first mark, at `began_s` of the monotonic clock, and its
    last; `lost` samples found a buffer full, `cpu_s` is what it used itself."""

    complete: bool
    began_s: float
    seconds: float
    event: Literal["cpu-clock", "cycles"]
    hz: int
    kernel: bool
    samples: int
    lost: int
    cpu_s: float
    functions: list[SampledFunction]
    stacks: list[SampledStack]


class Function(Message):
    """The census of one function: its name and how often it holds each instruction."""

    asked: str
    symbol: str
    raw: str
    address: str
    bytes: int
    instructions: int
    counts: dict[str, int]


class Census(Message):
    arch: str
    build_id: str | None
    functions: list[Function]
    missing: list[str]


class ImageHelper(Message):
    name: str
    section: str | None
    address: int
    calls: int


class ImageCoverage(Message):
    """How much of the code is known to be instructions: a fraction, and from what."""

    text_bytes: int
    covered: float
    by: str


class ImageSite(Message):
    """A place worth looking at; `facts` are those of its kind."""

    kind: str
    facts: dict[str, Any]
    function: str | None
    section: str | None
    address: int
    length: int
    listing: list[str]


class ImageFacts(Message):
    """What holds of a whole image; sizes in bytes."""

    atomics: str
    min_load_align: int | None
    constructor: bool | None
    page_size_string: bool
    jemalloc_lg_page: int | None
    checksum_tables: list[str]
    bti: bool
    pac: bool
    section_align: dict[str, int]
    needed: list[str]
    more: dict[str, int]
    cut: dict[str, int]


class ImageHints(Message):
    pause: int
    hints: int


class ImageCensus(Message):
    """One ELF image: an executable, a library, a relocatable file or a member of a library."""

    path: str
    member: str | None
    arch: str
    kind: Literal["executable", "shared", "relocatable"]
    build_id: str | None
    stripped: bool
    language: str | None
    counts: dict[str, int]
    unverified: dict[str, int]
    helpers: list[ImageHelper]
    coverage: ImageCoverage
    sites: list[ImageSite]
    facts: ImageFacts
    exports_hints: dict[str, ImageHints]


class ObjectSymbol(Message):
    """A definition: a link-time address, and its place in the file if it is there."""

    name: str
    kind: Literal["function", "indirect-function", "variable", "other"]
    address: int
    bytes: int
    offset: int | None
    exported: bool


class ObjectReference(Message):
    """An instruction that refers to a variable: link-time address, and place in the file."""

    function: str
    symbol: str
    address: int
    offset: int | None


class ObjectContent(Message):
    """A function or a variable of an object: digests of what it is made of, wherever it lies."""

    name: str
    kind: Literal["function", "data"]
    bytes: int
    digest: str
    shape: str


class ObjectFile(Message):
    """What an ELF file, or a member of a static library, says of itself."""

    path: str
    member: str | None
    arch: Literal["aarch64", "x86_64"]
    kind: Literal["executable", "shared", "relocatable"]
    build_id: str | None
    interpreter: str | None
    soname: str | None
    needed: list[str]
    stripped: bool
    compilers: list[str]
    symbols: list[ObjectSymbol]
    functions: list[str] | None
    references: list[ObjectReference]
    contents: list[ObjectContent] | None = None
    missing: list[str]


class RefusedFile(Message):
    """A file, or a member of a library, that is no ELF image that can be surveyed."""

    path: str
    member: str | None
    why: str


class Surveyed(Message):
    images: int
    refused: int


class Failure(Message):
    kind: Literal["usage", "missing", "failed"]
    message: str
    next: str


class HintCost(Message):
    name: str
    ns: float


class HugePool(Message):
    bytes: int
    pool: int
    free: int


class Thp(Message):
    enabled: str
    defrag: str


class Clock(Message):
    source: str
    hz: int


class Ability(Message):
    """Whether this machine can do or count something, and why not."""

    ok: bool
    why: str


class Htm(Message):
    state: Literal["absent", "always-aborts", "usable"]
    why: str


class Abilities(Message):
    pmu: Ability
    htm: Htm
    hugetlb_2m: Ability
    thp: Ability
    numa: Ability
    pin: Ability
    root: Ability


class Facts(Message):
    """What the machine is and what can be measured on it."""

    arch: str
    cpu_model: str
    cpus: int
    cpu_features: list[str]
    cache_line_bytes: int | None
    page_bytes: int
    kernel: str
    distribution: str
    numa_nodes: int
    memory_bytes: int
    huge_pages: list[HugePool]
    thp: Thp | None
    virtual: bool | None
    clock: Clock
    hints: list[HintCost]
    can: Abilities
    build_id: str
    version: str
