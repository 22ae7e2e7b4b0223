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
//! {"parts": {"hint": "none", "hint_ns": 0, "hint_repeats": 1, "lock": "ttas", "elision": "off",
//!            "elision_retries": 3, "spin_limit": 2048, "padding": 64,
//!            "data_cache": "one-lock", "cache_partitions": 64, "cache_share": 100,
//!            "system_cache": "one-lock", "pages": "4k", "index": "sharded", "cc": "row-lock",
//!            "store": "pages", "hash_cache": "off", "log": "none",
//!            "plan": "vectorised", "rewrite": "off", "repeat_every": 0},
//!  "workload": {"kind": "ycsb", "mix": "c", "records": 100000, "fields": 10, "field_bytes": 100,
//!               "chooser": "scrambled-10e10", "theta": 0.99, "operations": 1000000,
//!               "max_scan": 100},
//!  "threads": 2, "pin": true, "seed": 1, "warmup_ms": 200, "window_ms": 500, "interval_ms": 1000,
//!  "check_only": false}
//! ```
//!
//! * `hint`: `none`, `nop`; on x86-64 also `pause` and `double-pause` (two in a row); on aarch64
//!   also `yield`, `isb`, and where the CPU and the kernel have them `sb`, `wfe` (ended by the
//!   kernel's event stream) and `wfet` (after about a microsecond). One that is not here is
//!   "missing".
//! * `hint_ns`, `hint_repeats`: how often the hint is executed between two looks. `hint_ns` above 0
//!   is a time: the hint's cost is measured at start and the count derived from it; one of the two
//!   only. `spins` counts looks, whatever the count.
//! * `lock`: `tas`, `ttas`, `backoff`, `ticket`, `mcs`, `futex`.
//! * `elision`: `on` runs critical sections as hardware transactions that only read the lock;
//!   after an abort that may pass it tries again, at most `elision_retries` times, then takes the
//!   lock. Only with lock `ttas` (usage otherwise); where transactions do not commit it is
//!   "missing", with their state.
//! * `spin_limit`: `backoff` waits 1, 2, 4, ... hints between probes while that number is below the
//!   limit, then yields the CPU and starts over (2048 is nginx's constant and gives rounds of 2047
//!   hints); `futex` executes that many hints before it sleeps. Other kinds ignore it.
//! * `padding`: 0, 64 or 128: distance of neighbouring locks; 0 puts the 8-byte words side by side.
//! * `data_cache`: `one-lock`, `partitioned` (into `cache_partitions`, a power of two),
//!   `hyper-clock`, `optimistic`.
//! * `cache_share`: percent of the pages of the loaded records that fit the data cache. At 100 every
//!   page stays in memory; below, pages are evicted to a file without a name in the system's
//!   temporary folder, which `optimistic` cannot. A share of fewer pages than the threads may use at
//!   once is a usage error.
//! * `pages`: `4k`, `thp`, `collapse` (base pages, joined by MADV_COLLAPSE once touched),
//!   `hugetlb-2m`, `hugetlb-1g`. Huge pages that were not granted, or not all of them, are
//!   "missing"; `thp` may lack a tenth.
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
//! Every verb that measures takes `slices` (`engine`, `micro`, `load`, `store`): arms live side by
//! side, a process each, and take turns. `{"board": PATH, "arm": 0, "order": [0, 1, 1, 0],
//! "slice_us": 100000, "lead_us": 5000, "freeze_pid": null, "calibrate_us": 0, "patience_s": 60}`:
//!
//! * `board`: a file of 4096 zero bytes that the processes share. `arm`: which one this is; `order`:
//!   the arm of each slice, the same for all. Each warms up for `warmup_ms`, all at once; then who
//!   has the turn works for `slice_us`, of which the first `lead_us` do not count, waits for the
//!   answers that are due, and hands the turn over. `window_ms` and `interval_ms` say nothing.
//! * `freeze_pid`: the first process of the server. Its tree is stopped while others have the turn (a
//!   cgroup of version 2 is frozen; where that may not be had, SIGSTOP), and goes on when this process
//!   ends.
//! * `calibrate_us`: before the first slice and after each, a thread on every CPU hashes the same bytes
//!   for so long, with the server stopped and no request under way. It is for an arm that is alone.
//! * Each slice is an `interval` with an empty `histogram`, and with `"slice": {"turn", "early",
//!   "server_cpu_s", "rest_s", "rest_cpu_s", "calibration", "foreign_cpu_s", "steal_s",
//!   "drain_ms"}`: its place in `order`; operations that ended in each millisecond of `lead_us`; CPU
//!   seconds of the server in the slice (null where none is watched); the seconds since this arm's
//!   slice before, and the CPU seconds that the server took in them, or this process without the
//!   threads that write and wait (null for the first); buffers hashed in a microsecond, the
//!   geometric mean of before and after (null without); CPU seconds of processes that are not the
//!   run's; stolen ones; and how long answers were waited for. `window_s` is the sum of the slices,
//!   `health` and `cpus` are over the slices. An arm that ends early, or does not come within
//!   `patience_s`, is "missing" to the others.
//!
//! With `cc` other than `row-lock`, and under `tpcc` and `trade-desk`, transactions run:
//!
//! * `index`: `latched`, `optimistic`, `hash` (`sharded` is the key-value store's); `cc`: `no-wait`,
//!   `wait-die`, `optimistic`, `multi-version`; `store`: `pages` (behind the data cache) or `memory`;
//!   `hash_cache`: `on` puts a hash table before each tree; `log`: `none`, `asynchronous`,
//!   `private-group`, `group`, `per-commit`, in a file without a name where TMPDIR points.
//!   `system_cache` is the data cache of system tables. A combination that is not built is a usage
//!   error that names its neighbours.
//! * `{"kind": "tpcc", "warehouses": 2, "scale": "standard"|"small", "selection":
//!   "deck"|"weighted", "home": "fixed"|"drawn", "waits": false, "transactions": 0}`;
//!   `{"kind": "trade-desk", "users": 800, "accounts": 10000, "instruments": 50, "theta": 0.5,
//!   "catalogue_share": 0.3, "report_share": 0.0, "report_rows": 1000, "trade_think_ms": 0,
//!   "request_think_ms": 0, "transactions": 0}`. `transactions` sizes what grows; 0 derives it from
//!   the length of the run. With waits a latency counts from when its user had finished keying.
//! * The manifest has the parts, `threads`, `cpus`, `memory`, `clock`, `htm`, `load_s` and the four of
//!   the hint. Classes of `contention` are `index`, `row`, `log`, `data_cache`, `system_cache`.
//!   `counters` has `commits`, `retries`, `index_restarts`, `hash_cache.hits`, `hash_cache.misses`,
//!   `log.records`, `log.bytes`, `log.waits`, `log.syncs`, `cc_calls` and `aborts.CAUSE`. Roles of
//!   `ran` are `lock_slow`, `index_find` (the tree's or the table's own, past a hash cache), `cc` (a
//!   function that only this kind has: the one that refuses a lock, for the two that lock, or the one
//!   that commits; `cc_calls` times), `data_cache_lookup`, `system_cache_lookup`, `plan` (reports);
//!   `lookups` has `index` beside the caches.
//! * `state` has `faults`, in words, when the consistency conditions, the invariants or a record are
//!   broken; `records` is the key-value store's alone.
//!
//! The last workload is `{"kind": "aggregate", "rows": 100000, "sums": 90}`: one operation is one
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
//!   chosen and obtained: `hint`, `hint_ns` (as asked), `hint_repeats` (as used),
//!   `hint_ns_measured` (cost of one hint), `lock`, `elision`, `elision_retries`, `htm` (the state
//!   as in `facts`), `spin_limit`, `padding`, `data_cache`, `cache_partitions` (1 for `one-lock`, 0
//!   for `hyper-clock` and `optimistic`), `cache_share`, `cache_pages` (pages that fit the data
//!   cache), `pages`, `repeat_every`, `threads`, `cpus` (per worker the CPU it is pinned to, or
//!   null), `lock_stride_bytes` (from the addresses of two neighbouring locks), `memory` (below),
//!   `clock` `{"source": "tsc"|"cntvct"|"clock_gettime", "hz"}`, `load_s`, `records`,
//!   `inputs_per_thread`.
//! * `interval` `{"index", "start_ms", "length_ms", "operations", "errors", "histogram"}`: one for
//!   each `interval_ms` of the window and one for the rest. Histograms are HdrHistogram V2 with
//!   deflate, base64, in nanoseconds, three digits.
//! * `health` `{"loader": "in-process", "busiest_thread": null, "late_sends": null,
//!   "asked_per_s": null, "achieved_per_s", "server_idle", "foreign_cpu", "steal",
//!   "clock_step_ms"}`: `server_idle` is the idle fraction of the CPUs that workers may use,
//!   `foreign_cpu` the CPUs' worth of other processes' work (threads of the kernel, which write back
//!   and keep journals for them, are none), `steal` the CPUs' worth of stolen time, all over the
//!   window; `clock_step_ms` is how far the wall clock moved against the monotonic one.
//! * `result`:
//!   - `complete`: false if the window was cut short; `window_s`: its real length.
//!   - `operations`, `errors`: counted in the window; failed operations are part of both.
//!   - `latency_of`: `operations`, or `batches of N` where one operation is too short to time.
//!   - `overhead_ns_per_operation`: what measuring takes of an operation's time: the loop around
//!     nothing, with its clock reads and records, timed in the same process before the run; null for
//!     `load`, where it is not the server's time.
//!   - `by_kind`: `{"read"|"update"|"insert"|"scan"|"rmw": {"operations", "histogram"}}` for the
//!     kinds of the mix; `histogram`: all together.
//!   - `threads`: per worker `{"cpu", "operations", "cpu_s"}`.
//!   - `contention`: `{"data_cache"|"index"|"row": {"grabs", "waits", "spins", "wait_s"}}`: over
//!     the window, all threads; `waits` are acquisitions that found the lock taken, `spins` the
//!     hints executed meanwhile (probes where the hint is `none`).
//!   - `lookups`: `{"data_cache": n}` over the window.
//!   - `counters`: whatever else was counted over the window, all threads, by name. Key-value store:
//!     `data_cache.hits` and `data_cache.misses` (the look-ups), `data_cache.evictions`,
//!     `data_cache.write_backs` (evictions whose page had been changed). With `elision` `on`, by the
//!     classes of `contention`: `elided.CLASS` and `elision_fallbacks.CLASS` (acquisitions that
//!     committed without the lock, and that took it after all), and aborts by cause in
//!     `elision_conflicts.CLASS`, `elision_capacity.CLASS`, `elision_lock_held.CLASS`,
//!     `elision_other.CLASS`; `waits` then counts acquisitions whose first transaction aborted.
//!   - `executed`: operations carried out in the window, repetitions included; threads begin and
//!     end a window between two batches, so it may differ from `operations` by some of those.
//!   - `ran`: `[{"role": "lock_slow"|"data_cache_lookup"|"plan"|KIND, "address", "calls"}]`:
//!     functions really called in the window, by link-time address in hexadecimal, for `census`. One
//!     that was compiled at run time is in no file: it has `"made": {"symbol", "instructions",
//!     "counts"}` instead, counted in memory.
//!   - `memory`: `{"bytes", "anon_huge_bytes", "private_hugetlb_bytes", "eligible_bytes",
//!     "kernel_page_bytes"}` of exactly the arena's mapping, from /proc/self/smaps (absent without
//!     an arena; `eligible_bytes`: touched, and may be in transparent huge pages), plus
//!     `rss_bytes` and `page_table_bytes` of the process.
//!   - `cpus`: `[{"cpu", "busy", "user", "system", "softirq", "steal"}]`: fractions of the window.
//!   - `state`: `{"records", "checksum_ok"}`: after the run; every record has its key, its field
//!     sizes and whole values, and none is missing.
//!
//! # Verb `micro`: one primitive alone
//!
//! The same request and messages, but `parts` has `hint`, `hint_ns`, `hint_repeats`, `lock`,
//! `elision`, `elision_retries`, `spin_limit`, `padding`, `pages`, `repeat_every`, `"crc32c": "auto"|"misdispatched"|"bytewise"|
//! "slicing8"|"hardware"|"hardware-3way"|"pclmul"|"pmull"|"vpclmul"|"fusion"`, and, with their
//! defaults, `atomics` (`std`), `order` (`seq-cst`), `stride` (64), `call` (`direct`), `alignment`
//! (`aligned`), `timer` (`clock-gettime`), `hash` (`xxh3-detected`), `compression` (`lz4`),
//! `zstd_level` (3) and `simd` (`auto`). `workload` is
//!
//! * `{"kind": "lock", "locks": "one"|"each", "hold": 4, "gap": 20}`: one operation takes a lock,
//!   does `hold` multiply-adds on what it guards, releases it and does `gap` more. `each` gives
//!   every thread its own lock, side by side in the table. Kind and contention class are `lock`;
//!   A batch ends early after long waits. `checksum_ok`: the counters behind the locks add up.
//! * `{"kind": "crc32c", "buffer_bytes": 16384}`: one operation is the CRC32C of a buffer, each
//!   thread's own. The kind is `crc32c`, contention is empty. `checksum_ok`: every value was the
//!   bytewise one. A level the CPU lacks is "missing". `auto` is the fastest level of this CPU for
//!   the buffer's length; `misdispatched` looks for the instructions of another architecture and
//!   so ends at `bytewise`. The manifest names the level that runs, never the dispatch.
//!
//! * `{"kind": "atomic", "operation": "add"|"cas"|"lock", "words": "one"|"each"}`: one operation
//!   adds one to a word by atomic addition or by a compare-and-swap loop, or takes a lock by
//!   exchange. `atomics` is `std` (as compiled), and on aarch64 also `ll-sc` and, with that CPU
//!   feature, `lse`. `checksum_ok`: the words add up.
//! * `{"kind": "order", "access": "store"|"load"|"rmw", "words": "each"|"one"}`: one access to a
//!   word under `order`: `relaxed`, `acq-rel` (a store releases, a load acquires), `seq-cst`.
//! * `{"kind": "counters"}`: one operation adds one to the thread's own counter; counters are
//!   `stride` bytes apart: 8, 16, 32, 64, 128 or 256. `checksum_ok`: they add up.
//! * `{"kind": "call"}`: one call of a small function, by `call`: `inlined`, `direct`, `pointer`,
//!   `dyn` (a virtual table).
//! * `{"kind": "chase", "bytes": 268435456, "stride": 64}`: one load, whose address is what the load
//!   before it read. Places lie `stride` bytes apart (a multiple of 64), in a random cycle through all
//!   of them, which all threads go through. `checksum_ok`: every batch led as far as it had to.
//! * `{"kind": "unaligned"}`: one load of eight bytes, by `alignment`: `aligned`, `within-line`,
//!   `across-line`, `across-page`.
//! * `{"kind": "timer"}`: one reading of the time, by `timer`: `clock-gettime`, `instant`; x86-64's
//!   `rdtsc`, `rdtscp`; aarch64's `cntvct`, `isb-cntvct`. `checksum_ok`: it never ran backwards.
//! * `{"kind": "hash", "buffer_bytes": 16384}`: one buffer, by `hash`: `xxh3-detected`,
//!   `xxh3-compiled`, `chacha20` (enciphered in place).
//! * `{"kind": "compress", "buffer_bytes": 65536, "direction": "compress"|"decompress",
//!   "repeated_percent": 60}`: one buffer, by `compression`: `copy`, `lz4`, `zstd` at `zstd_level`
//!   (1 to 19). The buffer repeats earlier stretches of itself for that share.
//! * `{"kind": "simd", "work": "sum"|"filter", "buffer_bytes": 16384}`: one pass over a column, by
//!   `simd`: `scalar`, `auto` (the compiler's); x86-64's `sse2`, `avx2`; aarch64's `neon` and
//!   `translated` (the SSE2 program with its intrinsics mapped to NEON).
//!
//! So many operations are timed together (a power of two) that a batch takes 16 us at least, however
//! fast its operations are: the number follows from the workload (and from `compression`), so it is
//! the same for all that are compared. The kind in `by_kind` and the role in `ran` are the workload's.
//! What the CPU lacks is "missing".
//!
//! The manifest has the four of the hint, `lock`, `elision`, `elision_retries`, `htm`, `spin_limit`, `padding` and `lock_stride_bytes` for
//! `lock`, `crc32c` for `crc32c`, the part that shapes the kind for the others (and
//! `counter_stride_bytes` from addresses, `load_offset_bytes` in a page of 4 KiB, `chase_stride_bytes` and
//! `places`, `zstd_level`,
//! `compression_ratio` of the first thread's buffer), and for all `pages`, `repeat_every`, `threads`, `cpus`,
//! `memory`, `clock`, `load_s`. `state.records` is the number of operations carried out, warm-up
//! and repetitions included.
//!
//! # Verb `load`: a workload against a server
//!
//! ```json
//! {"target": {"protocol": "mysql"|"postgresql"|"redis"|"memcached"|"http", "host": "", "port": 0,
//!             "socket": null, "user": "", "password": null, "database": ""},
//!  "workload": {"kind": "redis-get", "keys": 1, "value_bytes": 3, "pipeline": 1},
//!  "action": "run"|"prepare"|"check"|"clean", "connections": 1,
//!  "rate": null|{"per_s": 1000.0, "spacing": "even"|"poisson"}, "patience_s": 60, "backend": null,
//!  "threads": 2, "pin": true, "seed": 1, "warmup_ms": 200, "window_ms": 500,
//!  "interval_ms": 1000, "server_pid": null, "beside_pids": [], "check_only": false}
//! ```
//!
//! * `socket`: a Unix socket instead of host and port. `connections` are shared out among `threads`.
//! * `rate`: requests a second over all connections, sent whatever the server does; null is a
//!   closed loop. `server_pid`: the server's first process, where it runs on this machine; the work
//!   of it and its descendants is then no `foreign_cpu`, and neither is that of `beside_pids` and
//!   theirs. `patience_s`: a login or a request that takes longer ends the run.
//! * `workload`: `{"kind": "http-get", "path": "/"}`; `redis-get`, `redis-set`, `memcached-get`,
//!   `memcached-set` with `{"keys": 1, "value_bytes": 3, "pipeline": 1}`; `oltp-point-select`,
//!   `oltp-read-only`, `oltp-read-write`, `oltp-update-index`, `oltp-update-non-index` with
//!   `{"tables": 1, "table_size": 10000, "distribution":
//!   "special"|"uniform"|"gaussian"|"pareto"|"zipfian", "skip_trx": false}`; `ycsb` as for
//!   `engine`; `tpcc` with `{"warehouses": 1, "scale": "standard", "waits": false, "wait_scale":
//!   1.0}`, a connection being a terminal; `trade-desk` with `{"accounts": 10000, "instruments":
//!   50, "theta": 0.5, "catalogue_share": 0.3, "trade_think_ms": 0, "request_think_ms": 0}` as for
//!   `engine`, a connection being a user and a temporary table being one; `hits`, `aggregate` and
//!   `hits-upload` below. SQL workloads are for `mysql` and `postgresql`, `ycsb` without mix e for
//!   `redis` and `memcached` too.
//! * In memcached a record is one value, its fields one after the other: a read is a `get`, an
//!   insert or update a `set` of all fields, a read-modify-write both. Every record that comes back
//!   is checked; one that is not there is an error of code `missing`. memcached is spoken without
//!   TLS.
//! * `{"kind": "script", "scripts": [{"name", "weight": 1, "text"}], "given": {}, "prepare": ""}`:
//!   scripts of a user's own, of which each operation is one, drawn by weight; its name is its kind.
//!   Over SQL a text is in pgbench's syntax: `\set NAME EXPRESSION` with integers, `:NAME`, `+ - * / %`,
//!   `random`, `random_exponential`, `random_gaussian`, `random_zipfian`, `abs`, `greatest`, `least`
//!   and `mod`; statements with `:NAME`, which are prepared. Of `redis` each line is a command, of
//!   `http` a path, with `{NAME}`; `#` begins a comment. `given` are variables that have a value from
//!   the start; `client_id` is the connection's number. Requests go one after the other. A deadlock, a
//!   conflict or a lock timeout rolls back and runs the script again; another error is the
//!   operation's. `prepare` is such a text, run once by the action of that name; `check` and `clean`
//!   do nothing.
//! * `action`: all workloads but `http-get` keep data on the server. `prepare` makes them (in SQL
//!   tables of their names are dropped, and each second there is `loading` `{"rows", "of"}`); `check`
//!   looks what is wrong with them after a run; `clean` takes them away. These three end with
//!   `result` `{"rows", "seconds", "faults"}`.
//!
//! Messages of a run as above, `phase` `load` being the logging in. The manifest has `server`,
//! `connections`, `threads`, `backend` (`io_uring` or `epoll`, which the request's `backend` may
//! name), `cpus`, `clock`, `connect_s`. `health`: `loader` is `client`;
//! `busiest_thread` is the busiest worker's CPU share without the time in which it only looked at the
//! clock; `late_sends` the fraction of sends more than 1 ms late though the connection was idle;
//! `server_idle` the idle fraction of all CPUs. `result` also has `load` `{"connections", "service",
//! "lateness", "cpu_us_per_operation", "ended_by"}`: histograms of answers from the send on and of
//! late sends, and what ended the run early (null: nothing); `counters` has `requests`, `spun_ns`, `rolled_back` (as the input demands),
//! `refused` (by the workload's own rules) and `retries.deadlock`, `retries.conflict`, `retries.lock_timeout`. Latencies count from the intended
//! time; all operations of a pipeline take as long as the last.
//!
//! Three workloads are about a table of page views, "hits-shaped synthetic, N rows" (`rows` from 10,000 to
//! 1,000,000,000): made from the request's `seed`, by this program's own schema and queries in the
//! style of a public benchmark, and never to be called by that benchmark's name.
//!
//! * `{"kind": "hits", "rows": 100000, "query": "all"|"q07", "checkout": null}`: one operation is one
//!   query, all of them in order and over again, or one alone. Kinds are `q01` and so on. `prepare`
//!   loads the table `hits` in one session, rows in their order, by COPY or by INSERTs of many rows.
//!   An answer is compared with the generator's own where that is known (counts, sums, distinct
//!   counts, first places), otherwise with the first answer of the run. Averages are texts of the
//!   server's: two servers may write one differently.
//! * `checkout` `{"create": PATH, "queries": PATH, "data": PATH}`: somebody's own files over a table
//!   `hits` instead: statements, queries one a line, rows as lines in COPY's text format. Only the
//!   number of rows of an answer is compared, since such queries may have ties.
//! * `{"kind": "aggregate", "rows": 100000, "sums": 90}`: SUM(resolution_width + k) for each k below
//!   `sums` over the same table, compared with the exact sums. The kind is `query`.
//! * `{"kind": "hits-upload", "rows": 100000, "rows_per_batch": 1000}`: one operation (`batch`) adds
//!   so many rows to `hits_upload`, which `prepare` makes empty, by COPY or one INSERT. Batches are made
//!   before the run, so `rows` is 1,000,000 at most; after the last comes the first again.
//!
//! An answer that differs ends the run, with both in `load.ended_by`. An operation belongs to the
//! window if it ends in it, whenever it began; one that is still under way when the window ends is not
//! counted. If none ended in a whole window, that is a "usage" error and there is no `result`. A query
//! of more than `patience_s` ends the run. A kind without an operation has an empty histogram.
//!
//! With `server_pid` `result` has `server` `{"cpu_s", "rss_bytes", "pss_bytes", "processes",
//! "voluntary_switches", "involuntary_switches"}`: CPU seconds and context switches over the window of
//! that process and its descendants, ended ones included as far as their parents waited for them, and
//! their memory after it (`pss_bytes`: shared pages divided among those that share them; null if it
//! cannot be read). It is absent if the process did not outlive the window.
//!
//! # Verb `store`: YCSB in this process on RocksDB or SQLite
//!
//! ```json
//! {"store": "rocksdb"|"sqlite", "library": "librocksdb.so.7.8", "path": null,
//!  "action": "run"|"prepare"|"options", "settings": {},
//!  "workload": {"kind": "ycsb", "mix": "c", "records": 100000},
//!  "threads": 2, "pin": true, "seed": 1, "warmup_ms": 200, "window_ms": 500,
//!  "interval_ms": 1000, "check_only": false}
//! ```
//!
//! * `library`: the shared library, a path or a name that the loader finds: another build is another
//!   file. A library, or a function of it, that is not there is "missing", by name. `path`: the folder
//!   of the data, which one action has at a time; not used by `options` and `check_only`.
//! * `workload`: `ycsb` as for `engine`. RocksDB keeps a record as one value: an update is a Get and a
//!   Put without a transaction, as go-ycsb does it on raw TiKV, a read-modify-write a Get before. SQLite
//!   keeps `usertable(ycsb_key TEXT PRIMARY KEY, field0 TEXT, ...)` in `store.db`; a thread has a
//!   connection, each statement is a transaction. Every record that comes back is checked.
//! * `settings`: texts, numbers, true or false, by the library's own names: options of RocksDB's
//!   database, default column family and block-based tables; SQLite's PRAGMAs. Assay's own are, for
//!   RocksDB, `cache` (`lru`, `hyper-clock`), `cache_bytes` (33554432), `row_cache_bytes` (0: none),
//!   `memtable` (`skiplist`, `vector`, `hash-skiplist`, `hash-linklist`), `verify_checksums` (true),
//!   `sync` (false), `wal` (true), `statistics` (`off`, `except-histograms-or-timers`,
//!   `except-timers`, `except-detailed-timers`, `except-time-for-mutex`, `all`; the fourth is the
//!   default and the only level of old versions); for SQLite `busy_timeout` (10000 ms). A memtable other
//!   than `skiplist` gets `allow_concurrent_memtable_write` false, and one that hashes gets
//!   `prefix_extractor` `capped:12`, unless given; what contradicts that is refused. Each setting is
//!   read back; one that the library changed or ignored is a usage error that names both values.
//! * `options` ends with `options` `{"version", "options": {NAME: DEFAULT}}`, of data in a temporary
//!   folder. `prepare` fills an empty folder (`loading` as of `load`), flushes and compacts, looks at
//!   all records, closes, and ends with `result` `{"rows", "seconds", "faults"}`; told to stop, it is
//!   "failed". `check_only` tries library and settings on data that are gone afterwards.
//!
//! Messages of a run as of `engine`, `phase` `load` being the opening. The manifest has `store`,
//! `library` (links resolved), `library_build_id` (null without one), `version`, `settings` (every one
//! that was given or is Assay's, as the OPTIONS file, the LOG or the PRAGMA reports it), `threads`,
//! `cpus`, `clock`, `open_s`, `records`, `log` (what RocksDB's LOG says of itself, such as `Fast CRC32
//! supported`; SQLite's `source_id` and `compile_options`). `counters` has RocksDB's tickers without
//! `rocksdb.`, and of histograms in which something was counted `NAME.count` and `NAME.sum`; SQLite's
//! `cache.hits`, `cache.misses`, `cache.writes`, `cache.spills`, and `busy.waits`, `busy.slept_ms`
//! (locks that were waited for) and `busy.retries`. `memory` is of the whole process: `bytes` that were
//! touched and are no file's, `kernel_page_bytes` of a pool's pages if there are any. `server` as of
//! `load` is this process, background threads included. `state` is of all records after the window,
//! with `faults`; a failed operation ends the run, and a library that aborts is "failed".
//!
//! # Verb `job`: a command to its end, again and again
//!
//! ```json
//! {"program": "/usr/bin/gzip", "words": ["gzip", "-k", "data"], "directory": null,
//!  "before": [], "prepare": [], "cleanup": [], "empty": "/usr/bin/true", "empties": 4,
//!  "keep_output": false, "any_code": false, "patience_ms": 600000, "warmup_ms": 0, "window_ms": 500,
//!  "server_pid": null, "beside_pids": []}
//! ```
//!
//! `program` is executed with `words` (the first is its name) in `directory`, with this process'
//! environment and /dev/null as standard input: for `warmup_ms`, then over and over until `window_ms`
//! are over, once at least. `before` is run once before all, `prepare` before each execution, `cleanup`
//! once at the end, whatever happened; none of them is timed, and each is words that no shell reads.
//! `empty` is executed `empties` times, half before the window and half after it.
//!
//! The clock runs from before posix_spawn until the end of the process is seen (pidfd); what it used is
//! wait4's, what it waited for included. Standard output goes to /dev/null, or with `keep_output` its
//! last MiB is kept (a window ends once 32 MiB are); standard error is read, and its last KiB is told
//! where something fails. Each execution has a process group of its own, which is killed after
//! `patience_ms` and when this process is told to stop. A code other than 0 (without `any_code`), a
//! death by a signal, and processes that are still there a tenth of a second after the command's end (they are
//! killed) are "failed". A program that is not there is "missing".
//!
//! With `server_pid` the command is a generator of load on that server: both fields as of `load`, and
//! `health` is a client's. Its `busiest_thread` is the busiest of the command's threads and those of its
//! children, as /proc shows them twice a second.
//!
//! Messages: `phase` `warmup` and `measure`, `health` as of `engine`, `result` `{"complete", "window_s",
//! "executions", "empty", "histogram", "cpus", "server"}`; an execution is `{"wall_ns", "user_us", "system_us",
//! "max_rss_bytes", "code", "signal", "output", "output_bytes"}` (`output` null unless it is kept).
//! `max_rss_bytes` is never below what this process had when it spawned: the kernel passes it on. That
//! of `empty` shows how much that is.
//!
//! # Verb `ask`: questions to a server
//!
//! Request `{"target": as of load, "asks": ["SHOW VARIABLES", ...], "patience_s": 60}`. SQL of
//! `mysql` and `postgresql`; commands of `redis`, split into words as `redis-cli` does; commands of
//! `memcached` as its protocol writes them, the value of a `set` on a line of its own; paths of
//! `http`. One connection asks all in order. One message `answers` `{"answers": [[[text or null,
//! ...], ...], ...]}`: by question its rows, by row its columns, as texts. A row of Redis is an
//! element of an array (its elements, if it is an array itself), an entry of a map, or the only
//! value; of memcached, a counter's name and value, a value's key, flags, bytes and with `gets` its
//! number, or the only word; of HTTP, the body. A question that the server refuses is "failed", and
//! so are all.
//!
//! # Verb `hits`: the page views as a file
//!
//! Request `{"rows": 100000, "seed": 1, "to": null|PATH}`: writes the rows of workload `hits` to a file, a
//! line each, columns separated by tabs; nothing in them needs an escape. One `result` `{"complete",
//! "rows", "bytes", "seconds", "create", "queries"}`: the statement that makes the table and the
//! queries by their kind. Without `to` nothing is written. When told to stop, `complete` is false and
//! the file is removed.
//!
//! # Verb `serve`: small servers
//!
//! `{"kind": "http-file"|"http-proxy"|"resp"|"memcached"|"tpcc", "ports": [0], "bytes": 512,
//! "upstreams": ["HOST:PORT"], "stall_ms": 0, "period_ms": 1000, "protocol":
//! null|"mysql"|"postgresql"}`: a server on each port of loopback (0: a free one), all on one thread,
//! until the process is told to stop. `http-file` answers every request with a file of `bytes`,
//! `resp` every command with a value of `bytes`, `memcached` every key with one, `http-proxy` passes
//! requests on to the `upstreams` by turns. `tpcc` is a stand-in that lets everybody in and answers
//! the statements of TPC-C's terminals in `protocol` without data: for measuring a client. With
//! `stall_ms` above 0 nobody is answered for the last `stall_ms` of every period. Messages: `serving`
//! `{"pid", "ports"}`, then at the end `result` `{}`.
//!
//! # Verb `sample`: counters, again and again
//!
//! ```json
//! {"pid": null, "hz": 10, "seconds": null, "groups": ["cpu", "softirqs", "softnet", "vm", "psi",
//!  "energy", "process"], "pmu": [[{"name": "cycles", "type": 0, "config": 0, "exclude_kernel": false}]],
//!  "probes": [{"name": "ngx_shmtx_lock", "path": "/usr/sbin/nginx", "offset": 123456}], "check_only": false}
//! ```
//!
//! Reads counters `hz` times a second (1 to 1000) for `seconds`, or until standard input ends. Group
//! `process` and `pmu` count the process `pid` and all that descend from it (no such process is
//! "missing"); without `pid`, `process` is a usage error and `pmu` counts all CPUs. `pmu` holds sets
//! of events by the kernel's numbers; those of one set are counted at the same times. `probes` count
//! how often the instruction at a place in a file (`offset` as of `object`) is reached, in all
//! processes that run the file, also in those outside of `pid`; each pass is slowed by a trap into
//! the kernel. Without `seconds`, a line `mark` on standard input asks for a reading at once; any
//! other line that is not empty ends the run as "usage".
//!
//! * `ready`'s manifest: `hz`, `pid`, `started_s` (CLOCK_MONOTONIC now), `counters` (names), `levels`
//!   (those that are states, such as bytes in use; all others grow), `costly` (those read every fifth
//!   second, at marks and at the end), `absent` `{NAME: WHY}`: groups and events that cannot be
//!   counted here.
//! * `sample` `{"at_s", "mark", "values"}`: seconds since `ready`; the number of the mark that asked
//!   for it (from 0), or null; by counter what it has counted since `ready`, or is now if it is a
//!   level; null where it was not read or could not be. An event has three counters: `perf.NAME`,
//!   never scaled, `perf.NAME:enabled_ns` and `perf.NAME:running_ns`, summed over threads or CPUs, a
//!   probe has `probe.NAME`; where running is below enabled, it was counted in that share of the time
//!   only.
//! * `result` `{"complete", "seconds", "samples", "cpu_s"}`; `cpu_s` is what this process has used
//!   since `ready`. The last sample is taken just before it.
//!
//! With `check_only` everything is opened, told in `ready`, and followed by `checked`. `softnet` is the
//! host's in every network namespace.
//!
//! # Verb `profile`: where the threads of a process are
//!
//! Request `{"pid": 12, "hz": 199, "hardware": false, "check_only": false}`: samples process `pid`
//! and all that descend from it, `hz` times (1 to 10,000) a second of each thread's CPU time; by
//! the kernel's timer (`cpu-clock`), or with `hardware` by `cycles` where the processor counts
//! them. Lines `mark` on standard input bound what counts: from the first to the last. The end of
//! standard input ends the run; any other line that is not empty ends it as "usage".
//!
//! * `ready`'s manifest: `pid`, `hz`, `event` (`cpu-clock`|`cycles`, null if nothing can be
//!   sampled), `kernel` (whether its functions are seen), `threads` that there were, `started_s`
//!   (CLOCK_MONOTONIC now), `absent` `{"profile"|"profile.kernel": WHY}`. Without `check_only`,
//!   `absent` `profile` is an `error` "missing" instead; with it `checked` follows.
//! * `result` `{"complete", "began_s", "seconds", "event", "hz", "kernel", "samples", "lost",
//!   "cpu_s", "functions": [{"name", "module"}], "stacks": [{"frames", "count"}]}`: `began_s` is
//!   when the first mark was made (CLOCK_MONOTONIC), `seconds` the time to the last; `lost` samples
//!   found a buffer full; `cpu_s` is what this process has used since `ready`. `frames` are places
//!   in `functions`, outermost first. Call chains follow frame pointers. A name has no parameters;
//!   `[FILE]+0x..` is a function without a symbol that begins at that link-time address (`(before
//!   NAME)`: the next that has one), `[FILE]+unknown` code of which nothing says even that,
//!   `[anonymous]` code without a file (compiled at run time), `[kernel]` the kernel's where it
//!   does not show its symbols, `[unmapped]` and `[process that ended]` what could not be looked up
//!   any more.
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
//! "instructions", "counts"}]`, `missing`: the questions that no function answers. One without a
//! symbol is found by its address, if unwinding information has it: `symbol` and `raw` are empty.
//! `counts` has every class of the architecture, zeros included. `nop` is the plain instruction;
//! alignment padding is not counted, neither there nor in `instructions`.
//!
//! With `{"paths": ["/usr/sbin/nginx"], "sites": true}` instead, whole files: ELF images of 64 bits for
//! x86-64 and aarch64, linked or not, stripped or not, and the members of static libraries. Per path,
//! in order, one `census` for each image and one `refused` `{"path", "member", "why"}` for whatever
//! is not understood (truncated, packed, other architectures, directories, FIFOs, ...), which is not
//! an error; at the end `result` `{"images", "refused"}`. A `census` has
//!
//! * `path`, `member` (of a static library, else null), `arch`: `aarch64`|`x86_64`, `kind`:
//!   `executable`|`shared`|`relocatable`, `build_id` (or null), `stripped` (no symbol table but the
//!   dynamic one), `language`: `c`|`go`|`rust`|null.
//! * `counts` on aarch64: `lse` (CAS, CASP, SWP, LD<op>, ST<op>), `lse_in_helpers`, `ll_sc` (loads and
//!   stores exclusive), `helpers` (outline-atomics functions), `helper_calls`, `helper_calls_sync`
//!   (of the helpers with a full barrier), `yield`, `isb`, `isb_in_loop`, `wfe`, `wfet`, `sb`, `dmb`,
//!   `dmb_outside_helpers`, `ldar`, `stlr`, `crc32`, `pmull_q` (of 64-bit numbers), `aes`, `sha`
//!   (1, 256, 512). On x86-64: `insns`, `lock` (prefixes), `xchg_mem`, `pause`, `pause_in_loop`,
//!   `crc32`, `pclmul`, `rdtsc` (and rdtscp), `xbegin`, `zmm` (with a 512-bit register). "In loop": a
//!   branch at most 64 instructions back, from behind it to before it.
//! * `unverified`: LL/SC, LSE, LDAR/STLR and CRC32 outside of known code; not in `counts`.
//! * `coverage` `{"text_bytes", "covered", "by"}`: `covered` is the fraction that is known to be code, by
//!   `mapping symbols`, `gopclntab`, `fde` (unwinding entries and symbols), `symbols` or `none`.
//! * `helpers` `[{"name", "section", "address", "calls"}]`: named from their bodies.
//! * `sites` `[{"kind", "facts", "function", "section", "address", "length", "listing"}]`: `function` as in
//!   the symbol table or null, `section` only in relocatable files, whose addresses begin at 0 in
//!   every section; `length` in instructions; `listing` at most 24 lines. Without `sites`: empty.
//! * `facts`: of the image; `exports_hints` `{FUNCTION: {"pause", "hints"}}`: exported functions with hints,
//!   or with a loop of the kinds `spin-loop` and `delay-loop`.
//!
//! Kinds of sites and their facts: `spin-loop` `{"hint": "none"|"yield"|"isb"|"wfe"|"sb"|"pause", "by":
//! "helper"|"lse"|"llsc"|"ldar"|"load"|"xchg"|"lock"|"count"}` (`count`: it looks at nothing, it only
//! executes hints); `delay-loop` `{"constant", "near_atomic"}` (an empty counting loop); `llsc-outside-helper`
//! `{"operation"}`; `inline-dispatch` `{"count"}` and `unguarded` `{"class", "count"}`, one for a function;
//! `unreachable` `{"classes", "why", "exported"}`; `hwcap` `{"argument": 16|26|29, "bits"}`; `ifunc` `{}`;
//! `id-register` `{"name"}`; `sigill-probe` `{}`; `barrier-in-loop` `{"what"}` (dmb sy, and any dsb);
//! `timer` `{"count"}`; `hint-outside-loop` `{"hint", "count"}`; `sync-helper` `{"name", "calls"}`. A kind has
//! at most 1000 sites.
//!
//! `facts`: `atomics`: `none`|`outline`|`inline-unguarded`|`inline-dispatch`|`ll-sc-only`|`mixed`;
//! `min_load_align` (of PT_LOAD, or null); `constructor`: whether something sets the flag that helpers
//! read (null without helpers); `page_size_string`, `jemalloc_lg_page`: jemalloc's message about page sizes,
//! and the page size compiled in; `checksum_tables`: those by bytes among its constants; `bti`, `pac`: the linker's marks; `section_align` `{NAME: bytes}` of
//! writable sections; `needed`: libraries; `more`: further counts by name (barriers by domain, `bti`,
//! `pac`, `cntvct`, `dsb`, `ldapr`); `cut` `{KIND: all}`: kinds with more sites than are listed.
//!
//! # Verb `object`: what ELF files say of themselves
//!
//! ```json
//! {"paths": ["/usr/sbin/nginx"], "symbols": ["ngx_cycle"], "functions": null|"all"|"exported",
//!  "references": [{"function": "ngx_shmtx_lock", "symbol": "ngx_ncpu"}], "contents": false|true}
//! ```
//!
//! The same files as `census`, and as there one message for each image or refusal, in order: `object`,
//! or `refused` `{"path", "member", "why"}`; at the end `result` `{"images", "refused"}`. A file is read
//! into memory (2 GiB at most), so that one that is cut meanwhile is a broken file. An `object` has
//!
//! * `path`, `member`, `arch`, `kind`, `build_id`, `stripped` as of `census`; `interpreter` and `soname`
//!   (or null); `needed`: libraries by name; `compilers`: the different texts of `.comment`, 100 at most.
//! * `symbols` `[{"name", "kind", "address", "bytes", "offset", "exported"}]`: definitions of the names
//!   that were asked for, as the symbol tables have them (100 at most of one name). `kind`: `function`,
//!   `indirect-function`, `variable` or `other`; `address` is link-time, in relocatable files within its
//!   section; `offset` is the place in the file (null if it is not there, as of a variable that begins as
//!   0): where a uprobe is set. `missing`: names that nothing is defined by.
//! * `functions`: names of all functions that have one, or of those that other files may call, each once,
//!   in order; null if not asked for.
//! * `references` `[{"function", "symbol", "address", "offset"}]`: the instructions of the function that
//!   read, write or take the address of the variable, in order; none where either has no symbol.
//! * `contents` `[{"name", "kind", "bytes", "digest", "shape"}]`: every `function` and `data`, with a
//!   digest of its bytes and of what a linker fills in by name, wherever it lies; `shape`, of functions,
//!   is the same without the numbers in instructions. Null if not asked for.
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
//! Captured output of `engine`, `micro`, `job`, `hits`, `load`, `store`, `sample`, `profile`, `facts`, `census`
//! and `object` is in `examples/protocol/`, and a test reads it with types of its own.

pub mod request;
pub mod response;
