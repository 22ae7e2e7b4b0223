//! The wire format of `assayer`, complete. Everything else that describes it points here.
//!
//! # Envelope
//!
//! `assayer VERB` reads one JSON object from standard input, up to its closing brace (the end of
//! the stream is not awaited), and writes lines `{"type": T, "data": {...}}` to standard output,
//! each flushed. A field the request does not know is refused. Standard error is for people.
//! Numbers are JSON numbers; times carry their unit in the name; "fraction" is from 0 to 1.
//!
//! Exit codes: 0 the result was written (or the reader left); 2 the request is wrong; 3 something
//! is missing here; 1 anything else. With 1, 2 and 3 the last line is
//!
//! * `error` `{"kind": "usage"|"missing"|"failed", "message", "next"}`: what went wrong, with what,
//!   and what to do next.
//!
//! SIGTERM, SIGINT and the death of the parent end a run with a `result` whose `complete` is false,
//! exit code 0.
//!
//! # Verb `engine`: a workload against the embedded engine
//!
//! Request; every field may be left out and then has the value shown:
//!
//! ```json
//! {"parts": {"hint": "none", "lock": "ttas", "spin_limit": 2048, "padding": 64,
//!            "data_cache": "one-lock", "cache_partitions": 64, "pages": "4k",
//!            "plan": "vectorised", "rewrite": "off", "repeat_every": 0},
//!  "workload": {"kind": "ycsb", "mix": "c", "records": 100000, "fields": 10, "field_bytes": 100,
//!               "chooser": "scrambled-10e10", "theta": 0.99, "operations": 1000000,
//!               "max_scan": 100},
//!  "threads": 2, "pin": true, "seed": 1, "warmup_ms": 200, "window_ms": 500, "interval_ms": 1000,
//!  "check_only": false}
//! ```
//!
//! * `hint`: `none`, `nop`; on x86-64 also `pause`; on aarch64 also `yield` and `isb`. One of the
//!   other architecture is "missing".
//! * `lock`: `tas`, `ttas`, `backoff`, `ticket`, `mcs`, `futex`.
//! * `spin_limit`: `backoff` waits 1, 2, 4, ... hints between probes while that number is below the
//!   limit, then yields the CPU and starts over (2048 is nginx's constant and gives rounds of 2047
//!   hints); `futex` executes that many hints before it sleeps. Other kinds ignore it.
//! * `padding`: 0, 64 or 128: distance of neighbouring locks; 0 puts the 8-byte words side by side.
//! * `data_cache`: `one-lock`, `partitioned` (into `cache_partitions`, a power of two),
//!   `lock-free`.
//! * `pages`: `4k`, `thp`, `hugetlb-2m`.
//! * `repeat_every`: n > 0 carries out one more operation after every n, the same in everything but
//!   that it is not counted, its time falling to the next: throughput falls to n / (n + 1).
//! * `plan`: `row`, `bytecode`, `vectorised`, `cranelift-scalar`, `cranelift-simd`, and `rewrite`:
//!   `off`, `on`: how workload `aggregate` is run; the other workloads ignore them.
//! * `check_only`: true tries everything that can be refused (the parts, the memory) and ends with
//!   one message `checked` `{}`; nothing is loaded or measured.
//! * `mix`: `a` to `f`. `chooser`: `scrambled-10e10`, `exact`, `uniform`; mix `d` always takes the
//!   latest. `operations` only sizes the key space for inserts; a run that inserts more ends with a
//!   usage error.
//!
//! The other workload is `{"kind": "aggregate", "rows": 100000, "sums": 90}`: one operation is one
//! query, SUM(column + k) for each k below `sums` over `rows` hits-shaped synthetic rows. It uses
//! `plan`, `rewrite` and `repeat_every` of the parts; its manifest has those, `threads`, `cpus`,
//! `clock`, `load_s`, `rows` and `compile_ms` (from the query to the plan). Kind of operation is
//! `query`, contention is empty. `checksum_ok`: every answer was SUM(column) + k * rows.
//!
//! Messages, in order (`phase` `load`, `ready`, `phase` `warmup`, `phase` `measure`,
//! `interval` ..., `health`, `result`):
//!
//! * `phase` `{"name"}`: what begins now.
//! * `ready` `{"verb", "pid", "build_id", "manifest"}`: loaded. The manifest says what was really
//!   chosen and obtained: `hint`, `lock`, `spin_limit`, `padding`, `data_cache`, `cache_partitions`
//!   (1 for `one-lock`, 0 for `lock-free`), `pages`, `repeat_every`, `threads`, `cpus` (per worker
//!   the CPU it is pinned to, or null), `lock_stride_bytes` (from the addresses of two neighbouring
//!   locks), `memory` (below), `clock` `{"source": "tsc"|"cntvct"|"clock_gettime", "hz"}`,
//!   `hint_ns` (measured cost of one hint), `load_s`, `records`, `inputs_per_thread`.
//! * `interval` `{"index", "start_ms", "length_ms", "operations", "errors", "histogram"}`: one for
//!   each `interval_ms` of the window and one for the rest. Histograms are HdrHistogram V2 with
//!   deflate, base64, in nanoseconds, three digits.
//! * `health` `{"loader": "in-process", "busiest_thread": null, "late_sends": null,
//!   "asked_per_s": null, "achieved_per_s", "server_idle", "foreign_cpu", "steal",
//!   "clock_step_ms"}`: `server_idle` is the idle fraction of the CPUs that workers may use,
//!   `foreign_cpu` the CPUs' worth of other processes' work, `steal` the CPUs' worth of stolen
//!   time, all over the window; `clock_step_ms` is how far the wall clock moved against the
//!   monotonic one.
//! * `result`:
//!   - `complete`: false if the window was cut short; `window_s`: its real length.
//!   - `operations`, `errors`: counted in the window; failed operations are part of both.
//!   - `latency_of`: `operations`, or `batches of 64` where one operation is too short to time.
//!   - `by_kind`: `{"read"|"update"|"insert"|"scan"|"rmw": {"operations", "histogram"}}` for the
//!     kinds of the mix; `histogram`: all together.
//!   - `threads`: per worker `{"cpu", "operations", "cpu_s"}`.
//!   - `contention`: `{"data_cache"|"index"|"row": {"grabs", "waits", "spins", "wait_s"}}`: over
//!     the window, all threads; `waits` are acquisitions that found the lock taken, `spins` the
//!     hints executed meanwhile (probes where the hint is `none`).
//!   - `lookups`: `{"data_cache": n}` over the window.
//!   - `executed`: operations carried out in the window, repetitions included; threads begin and
//!     end a window between two batches, so it may differ from `operations` by some of those.
//!   - `ran`: `[{"role": "lock_slow"|"data_cache_lookup"|"crc32c"|"plan", "address", "calls"}]`:
//!     functions really called in the window, by link-time address in hexadecimal, for `census`. One
//!     that was compiled at run time is in no file: it has `"made": {"symbol", "instructions",
//!     "counts"}` instead, counted in memory.
//!   - `memory`: `{"bytes", "anon_huge_bytes", "private_hugetlb_bytes", "kernel_page_bytes"}` of
//!     exactly the arena's mapping, from /proc/self/smaps (absent without an arena), plus `rss_bytes` and `page_table_bytes`
//!     of the process.
//!   - `cpus`: `[{"cpu", "busy", "user", "system", "softirq", "steal"}]`: fractions of the window.
//!   - `state`: `{"records", "checksum_ok"}`: after the run; every record has its key, its field
//!     sizes and whole values, and none is missing.
//!
//! # Verb `micro`: one primitive alone
//!
//! The same request and messages, but `parts` has `hint`, `lock`, `spin_limit`, `padding`, `pages`,
//! `repeat_every` and `"crc32c": "auto"|"misdispatched"|"bytewise"|"slicing8"|"hardware"|
//! "hardware-3way"|"pclmul"|"pmull"|"vpclmul"|"fusion"`, and `workload` is
//!
//! * `{"kind": "lock", "locks": "one"|"each", "hold": 4, "gap": 20}`: one operation takes a lock,
//!   does `hold` multiply-adds on what it guards, releases it and does `gap` more. `each` gives
//!   every thread its own lock, side by side in the table. Kind and contention class are `lock`;
//!   64 operations are timed together (fewer after long waits). `checksum_ok`: the counters behind
//!   the locks add up.
//! * `{"kind": "crc32c", "buffer_bytes": 16384}`: one operation is the CRC32C of a buffer, each
//!   thread's own. The kind is `crc32c`, contention is empty. `checksum_ok`: every value was the
//!   bytewise one. A level the CPU lacks is "missing". `auto` is the fastest level of this CPU for
//!   the buffer's length; `misdispatched` looks for the instructions of another architecture and
//!   so ends at `bytewise`. The manifest names the level that runs, never the dispatch.
//!
//! The manifest has `hint`, `lock`, `spin_limit`, `padding`, `lock_stride_bytes` and `hint_ns` for
//! `lock`, `crc32c` for `crc32c`, and for both `pages`, `repeat_every`, `threads`, `cpus`,
//! `memory`, `clock`, `load_s`. `state.records` is the number of operations carried out, warm-up
//! and repetitions included.
//!
//! # Verb `facts`: this host
//!
//! Request `{}`. One `result`: `arch`, `cpu_model`, `cpus`, `cpu_features` (sorted),
//! `cache_line_bytes` (null if unknown), `page_bytes`, `kernel`, `distribution`, `numa_nodes`,
//! `memory_bytes`, `huge_pages` `[{"bytes", "pool", "free"}]`, `thp` `{"enabled", "defrag"}` (null
//! without it), `virtual` (null if unknown), `clock`, `hints` `[{"name", "ns"}]`, `can` `{"pmu",
//! "hugetlb_2m", "thp", "numa", "pin", "root": {"ok", "why"}, "htm": {"state":
//! "absent"|"always-aborts"|"usable", "why"}}`, `build_id`, `version`.
//!
//! # Verb `census`: what functions contain
//!
//! Request `{"path": "/proc/N/exe", "symbols": ["name"], "addresses": ["0x..."]}`; names are those
//! of the symbol table or demangled ones, addresses are link-time. One `result`: `arch`, `build_id`
//! (null without one), `functions` `[{"asked", "symbol", "raw", "address", "bytes",
//! "instructions", "counts"}]`, `missing`: the questions that no function answers. `counts` has
//! every class of the architecture, zeros included. `nop` is the plain instruction; alignment
//! padding is not counted, neither there nor in `instructions`.
//!
//! # A worked example
//!
//! ```text
//! $ echo '{"path": "/proc/self/exe", "symbols": ["assay_lock_ttas_slow_pause"]}' | assayer census
//! {"type":"result","data":{"arch":"x86_64","build_id":"7a...","functions":[{"asked":
//! "assay_lock_ttas_slow_pause","symbol":"assay_lock_ttas_slow_pause","raw":
//! "assay_lock_ttas_slow_pause","address":"0x5f10","bytes":37,"instructions":11,"counts":{...,
//! "pause":1,...,"xchg_mem":1}}],"missing":[]}}
//! ```
//!
//! Captured output of every verb is in `examples/protocol/`, and a test reads it with types of its
//! own.

pub mod request;
pub mod response;
