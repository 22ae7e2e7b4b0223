"""Rules of sources: each on the smallest tree that provokes it, and on the nearest sound one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from assay.readiness.machine import Machine
from assay.readiness.source import RULES, judge, read
from readiness_kit import GRAVITON, OLD, judged, places, tree_of

NGINX = """
#if (HAVE_LIBATOMIC)
#define cpu_pause()
#elif (HAVE_GCC)
#if ( __i386__ || __amd64__ )
#define cpu_pause() __asm__ ("pause")
#else
#define cpu_pause(){body}
#endif
#endif
void lock(int *x) {{ for (;;) {{ if (!*x) return; cpu_pause(); }} }}
"""
MARIADB = """
#if defined __i386__ || defined __x86_64__
# define HAVE_PAUSE
#endif
static inline void relax(void)
{{
#ifdef _WIN32
  YieldProcessor();
#elif defined HAVE_PAUSE
  __asm__ __volatile__ ("pause");
#elif defined(__GNUC__)
  __asm__ __volatile__ ("{hint}":::"memory");
#endif
}}
static inline void delay(unsigned i) {{ while (i--) relax(); }}
"""
POSTGRES = {
    "atomics.h": """
#if defined(__arm__) || defined(__aarch64__)
#include "port/arch-arm.h"
#elif defined(__x86_64__)
#include "port/arch-x86.h"
#endif
#include "port/generic.h"
static inline void spin_delay(void) { pg_delay(); }
""",
    "port/arch-x86.h": """
#define PG_HAVE_DELAY
static __inline__ void pg_delay(void) { __asm__ __volatile__(" rep; nop \\n"); }
""",
    "port/arch-arm.h": "#define PG_ARM 1\n",
    "port/generic.h": """
#if !defined(PG_HAVE_DELAY)
#define PG_HAVE_DELAY
#define pg_delay() ((void)0)
#endif
""",
    "lock.c": '#include "atomics.h"\nvoid f(int *x) { while (*x) { spin_delay(); } }\n',
}
INTRINSIC = "int sum(void) { __m128i a = _mm_setzero_si128(); return _mm_cvtsi128_si32(a); }\n"
CRC = """
unsigned crc(const unsigned char *p, int n, unsigned c) {
#if defined(__x86_64__)
  for (; n--; p++) c = __builtin_ia32_crc32qi(c, *p);
%s
#else
  for (; n--; p++) c = table[(c ^ *p) & 255] ^ (c >> 8);
#endif
  return c;
}
"""
LOCK = """
typedef volatile unsigned long lock_t;
int take(lock_t *lock) { return cmp_set(lock, 0, 1); }
void give(lock_t *lock) { work(); %s*lock = 0; }
"""
RUST = "fn f(x: &AtomicBool) { while x.load(Acquire) { %s } }\n"
CMAKE = "check_cxx_symbol_exists(getauxval %s HAVE_AUXV)\n"

Files = dict[str, str]
Case = tuple[Files, list[str]]

LOUD: dict[str, list[Case]] = {
    "S01": [
        ({"a.h": NGINX.format(body="")}, ["a.h:8"]),
        ({"a.h": NGINX.format(body=" ((void) 0)")}, ["a.h:8"]),
        ({"a.h": MARIADB.format(hint="")}, ["a.h:12"]),
        (POSTGRES, ["port/generic.h:4"]),
        (
            {
                "a.c": "static void relax(void) {\n#ifdef __SSE2__\n  _mm_pause();\n#endif\n}\n"
                "void f(int *x) { while (*x) relax(); }\n"
            },
            ["a.c:1"],
        ),
        (
            {
                "a.c": "#ifdef __x86_64__\nstatic void relax(void) { _mm_pause(); }\n#else\n"
                "static void relax(void) { }\n#endif\nvoid f(int *x) { while (*x) relax(); }\n"
            },
            ["a.c:4"],
        ),
        (
            {
                "a.c": "void f(int *x) {\n  while (*x) {\n#ifdef __x86_64__\n    _mm_pause();\n"
                "#endif\n    g();\n  }\n}\n"
            },
            ["a.c:4"],
        ),
    ],
    "S02": [
        ({"a.c": "#include <emmintrin.h>\n" + INTRINSIC}, ["a.c:1"]),
        ({"a.c": f"#ifdef __SSE2__\n#include <emmintrin.h>\n{INTRINSIC}#endif\n"}, ["a.c:2"]),
    ],
    "S03": [({"crc.c": CRC % ""}, ["crc.c:6"])],
    "S04": [
        ({"a.c": 'long t(void) { long x; __asm__ volatile ("rdtsc" : "=A"(x)); return x; }'},
         ["a.c:1"]),
    ],
    "S05": [
        ({"a.c": LOCK % ""}, ["a.c:4"]),
        (
            {
                "a.h": "typedef volatile int lock_t;\n"
                "#define trylock(lock) (*(lock) == 0 && cmp_set(lock, 0, 1))\n"
                "#define unlock(lock) *(lock) = 0\nint f(int *x) { return cmp_set(lock, 0, 1); }\n"
            },
            ["a.h:3"],
        ),
    ],
    "S06": [
        ({"a.c": "int f(int *x) { return __sync_fetch_and_add(x, 1); }\n"}, ["a.c:1"]),
        (
            {
                "sync.h": "int f(int *x) { return __sync_fetch_and_add(x, 1); }\n",
                "a.c": "#ifdef USE_THREADS\n#include \"sync.h\"\n#endif\n",
            },
            ["sync.h:1"],
        ),
    ],
    "S07": [
        ({"a.cc": "struct alignas(64) A { int x; };\n"}, ["a.cc:1"]),
        ({"a.h": "#define CACHE_LINE_SIZE 64\n"}, ["a.h:1"]),
    ],
    "S08": [
        ({"a.cc": "alignas(std::hardware_destructive_interference_size) int x;\n"}, ["a.cc:1"])
    ],
    "S09": [
        ({"CMakeLists.txt": CMAKE % "auvx.h"}, ["CMakeLists.txt:1"]),
        ({"CMakeLists.txt": "check_include_file(sys/auvx.h HAVE_X)\n"}, ["CMakeLists.txt:1"]),
        ({"configure.ac": "AC_CHECK_HEADERS([stdio.h sys/auxy.h])\n"}, ["configure.ac:1"]),
        (
            {
                "a.c": "#ifdef __aarch64__\n#ifdef HAVE_ARM_CRC\nint f(int x) "
                "{ return __crc32cb(x, 1); }\n#endif\n#endif\n",
                "Makefile": "all: a.o\n",
            },
            ["a.c:2"],
        ),
    ],
    "S10": [
        ({"Makefile": "CFLAGS += -msse4.2\n"}, ["Makefile:1"]),
        ({"Makefile": "CFLAGS += -mno-outline-atomics\n"}, ["Makefile:1"]),
        ({"Makefile": "CFLAGS += -march=armv8.1-a\n"}, ["Makefile:1"]),
    ],
    "S11": [
        (
            {
                "CMakeLists.txt": 'if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64")\nelse()\n'
                "message(FATAL_ERROR no)\nendif()\n"
            },
            ["CMakeLists.txt:1"],
        ),
        (
            {"configure.ac": "case $host_cpu in\nx86_64) X=1 ;;\n*) AC_MSG_ERROR([no]) ;;\nesac\n"},
            ["configure.ac:1"],
        ),
    ],
    "S12": [
        ({"a.c": "long f(void) {\n  long n = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);\n"
          "  return 1024 / n;\n}\n"}, ["a.c:2"]),
    ],
    "S13": [
        ({"a.c": "void f(FILE *i) {\n  char c;\n  while ((c = getc(i)) != EOF) g(c);\n}\n"},
         ["a.c:3"]),
    ],
    "S14": [
        ({"a.h": "#define PAGE_SIZE 4096\n"}, ["a.h:1"]),
        ({"a.c": "void f(void) { munmap(p, 4096); }\n"}, ["a.c:1"]),
        ({"a.c": "long page(long x) { return x & ~4095; }\n"}, ["a.c:1"]),
        ({"Makefile": "jemalloc:\n\tcd jemalloc && ./configure --with-lg-quantum=3\n"},
         ["Makefile:2"]),
    ],
    "S15": [
        ({"crc_armv8_choose.c": "int f(void) { signal(SIGILL, h); if (!sigsetjmp(j, 1)) crc(); }\n"
          "void h(int s) { siglongjmp(j, 1); }\n"},
         ["crc_armv8_choose.c:1"]),
    ],
    "S16": [
        ({"a.rs": 'fn f() { unsafe { core::arch::asm!("yield") } }\n'}, ["a.rs:1"]),
        ({"a.rs": RUST % ""}, ["a.rs:1"]),
        ({"a.go": "func f() { for !atomic.CompareAndSwapInt32(&x, 0, 1) { } }\n"}, ["a.go:1"]),
        ({"a.c": 'void f(void) {\n  asm volatile("yield");\n}\n'}, ["a.c:2"]),
    ],
}  # fmt: skip

QUIET: dict[str, list[Files]] = {
    "S01": [
        {"a.h": NGINX.format(body=' __asm__ ("isb")')},
        {"a.h": MARIADB.format(hint="isb")},
        {"a.h": "#define cpu_pause()\n"},
        {
            "a.c": "#ifdef __x86_64__\n#define P() _mm_pause()\n#elif defined(__aarch64__)\n"
            '#define P() asm volatile("isb")\n#else\n#define P()\n#endif\n'
        },
        {"test/a.h": NGINX.format(body="")},
    ],
    "S02": [
        {"a.c": f"#ifdef __SSE2__\n#include <emmintrin.h>\n{INTRINSIC}#endif\n"
         "#ifdef __aarch64__\n#include <arm_neon.h>\n#endif\n"},
        {"sums_sse.c": f"#include <emmintrin.h>\n{INTRINSIC}", "sum_arm64.c": "int sum(void);\n"},
        {"sum_sse.c": "#include <emmintrin.h>\n" + INTRINSIC, "sum_neon.c": "int sum(void);\n"},
        {"a.c": "#ifdef __SSE2__\n#include <emmintrin.h>\n#endif\nint x;\n"},
    ],
    "S03": [
        {"crc.c": CRC % "#elif defined(__aarch64__)\n  for (; n--; p++) c = __crc32cb(c, *p);"},
        {"a.c": "int f(void) {\n#ifdef __x86_64__\n  return 1;\n#else\n  return 2;\n#endif\n}\n"},
    ],
    "S04": [
        {"a.c": '#ifdef __x86_64__\nlong t(void) { asm("rdtsc"); }\n#endif\n'},
        {"a.c": 'void f(void) { asm volatile("" ::: "memory"); }\n'},
        {"a.c": '#ifdef TRY_IT\nlong t(void) { asm("rdtsc"); }\n#endif\n'},
        {"x86/a.c": 'long t(void) { asm("rdtsc"); }\n'},
    ],
    "S05": [
        {"a.c": LOCK % "memory_barrier(); "},
        {"a.c": LOCK.replace("volatile ", "") % ""},
    ],
    "S06": [{"sync.h": "int f(int *x) { return __sync_fetch_and_add(x, 1); }\n",
             "a.c": "#ifdef HAVE_NEWER\n#elif defined(HAVE_SYNC)\n#include \"sync.h\"\n#endif\n"},
            {"a.c": "int f(int *x) { return __atomic_fetch_add(x, 1, __ATOMIC_RELAXED); }\n"},
            {"a.c": "/* __sync_fetch_and_add(x, 1) */\nchar *s = \"__sync_add(\";\n"}],
    "S07": [{"a.cc": "struct alignas(CACHE) A { int x; };\n"},
            {"a.h": "#ifdef __x86_64__\n#define CACHE_LINE_SIZE 64\n#endif\n"}],
    "S08": [{"a.cc": "alignas(own::hardware_destructive_interference_size) int x;\n"},
            {"a.cc": "#ifdef __cpp_lib_hardware_interference_size\n#endif\n"}],
    "S09": [
        {"CMakeLists.txt": CMAKE % "sys/auxv.h"},
        {"CMakeLists.txt": "check_include_file(my/own.h HAVE_X)\n"},
        {
            "a.c": "#ifdef __aarch64__\n#ifdef HAVE_ARM_CRC\nint f(int x) "
            "{ return __crc32cb(x, 1); }\n#endif\n#endif\n",
            "CMakeLists.txt": "add_definitions(-DHAVE_ARM_CRC)\n",
        },
    ],
    "S10": [
        {"Makefile": "CFLAGS += -msse4.2\nARM = -march=armv8-a+crc\n"},
        {"Makefile": "CFLAGS += -O2 -moutline-atomics\n"},
        {"configure.ac": "if x; then\n  CFLAGS=-march=armv8.2-a\nfi\n"},
        {"Makefile": "CPU_CFLAGS.armv81 = -march=armv8.1-a\n"},
    ],
    "S11": [
        {"CMakeLists.txt": 'if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64")\nelseif("aarch64")\n'
         "endif()\n"},
        {"configure.ac": "case $host_os in\nlinux) ;;\nesac\n"},
    ],
    "S12": [{"a.c": "long f(void) {\n  long n = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);\n"
             "  return n > 0 ? n : 64;\n}\n"}],
    "S13": [
        {"a.c": "void f(FILE *i) {\n  int c;\n  while ((c = getc(i)) != EOF) g(c);\n}\n"},
        {"a.c": "void f(FILE *i) {\n  signed char c;\n  if ((c = getc(i)) == -1) g(c);\n}\n"},
        {"a.c": "char c;\nvoid f(FILE *i) {\n  int c;\n  while ((c = getc(i)) != EOF) g(c);\n}\n"},
    ],
    "S14": [
        {"a.c": "void f(void) { p = mmap(0, 4096, 3, 2, -1, 0); }\n"},
        {"a.c": "long round_up(long x) { return (x * 5) & ~(4096 - 1); }\n"},
        {"a.h": "#define BUFFER_SIZE 4096\n#define HUGE_PAGE_SIZE (2 << 20)\n"},
        {"a.h": "#ifdef __x86_64__\n#define PAGE_SIZE 4096\n#endif\n"},
        {"Makefile": "jemalloc:\n\tcd jemalloc && ./configure --with-lg-page=16\n"},
    ],
    "S15": [{"a.c": "void f(void) { signal(SIGILL, crash_handler); }\n"}],
    "S16": [
        {"a.rs": RUST % "core::hint::spin_loop();"},
        {"a.c": 'void f(void) {\n  asm volatile("isb");\n  sched_yield();\n}\n'},
        {"a.c": '#ifdef __arm__\nvoid f(void) { asm volatile("yield"); }\n#endif\n'},
    ],
}  # fmt: skip

LOUD_CASES = [(rule, at) for rule, cases in LOUD.items() for at in range(len(cases))]
QUIET_CASES = [(rule, at) for rule, cases in QUIET.items() for at in range(len(cases))]


@pytest.mark.parametrize(("rule", "at"), LOUD_CASES, ids=lambda v: str(v))
def test_a_rule_speaks_at_the_line_of_its_fault(rule: str, at: int, tmp_path: Path) -> None:
    """There and nowhere else."""
    files, expected = LOUD[rule][at]
    assert places(judged(tmp_path, files), rule) == expected


@pytest.mark.parametrize(("rule", "at"), QUIET_CASES, ids=lambda v: str(v))
def test_a_rule_is_quiet_about_the_nearest_sound_source(rule: str, at: int, tmp_path: Path) -> None:
    """The fault mended, or never there."""
    assert places(judged(tmp_path, QUIET[rule][at]), rule) == []


def test_every_rule_is_provoked_and_kept_quiet_here() -> None:
    """All that are declared."""
    assert set(LOUD) == set(QUIET) == {rule.id for rule in RULES}


def test_a_pause_says_where_it_is_called_in_loops(tmp_path: Path) -> None:
    """By way of another function too; without any such call it is only advice."""
    found = [f for f in judged(tmp_path / "a", POSTGRES) if f.rule == "S01"]
    assert found[0].severity == "S2"
    assert "lock.c:2" in found[0].evidence
    alone = {k: v for k, v in POSTGRES.items() if k != "lock.c"}
    found = [f for f in judged(tmp_path / "b", alone) if f.rule == "S01"]
    assert found[0].severity == "S3"


def test_a_header_counts_only_in_the_worlds_that_include_it(tmp_path: Path) -> None:
    """Assembly of x86 in a header that only x86-64 includes is no fault; else it is."""
    asm = 'static long t(void) { long x; __asm__ ("rdtsc" : "=A"(x)); return x; }\n'
    guarded = '#ifdef __x86_64__\n#include "clock.h"\n#endif\n'
    assert places(judged(tmp_path / "a", {"clock.h": asm, "a.c": guarded}), "S04") == []
    bare = '#include "clock.h"\n'
    assert places(judged(tmp_path / "b", {"clock.h": asm, "a.c": bare}), "S04") == ["clock.h:1"]


def test_a_macro_that_the_build_may_define_is_not_held_to_be_absent(tmp_path: Path) -> None:
    """HAVE_X is defined for x86-64 in a header, and by CMake where it finds it."""
    files = {
        "a.h": "#ifdef __x86_64__\n#define HAVE_X 1\n#endif\n",
        "a.c": '#include "a.h"\n#ifdef HAVE_X\nint a;\n#else\nint b;\n#endif\n',
    }
    project = read(tree_of(tmp_path / "a", files))
    told = {f.name: f for f in project.files}
    assert (told["a.c"].arm(3), told["a.c"].arm(5)) == (0, 1)
    project = read(tree_of(tmp_path / "b", {**files, "CMakeLists.txt": "set(HAVE_X 1)\n"}))
    told = {f.name: f for f in project.files}
    assert (told["a.c"].arm(3), told["a.c"].arm(5)) == (2, 2)


@pytest.mark.parametrize(
    ("machine", "severity"), [(None, "S3"), (GRAVITON, "I"), (OLD, "S1")], ids=["none", "4K", "64K"]
)
def test_a_page_of_4096_is_as_grave_as_the_host_makes_it(
    machine: Machine | None, severity: str, tmp_path: Path
) -> None:
    """Wrong on a host with pages of 64 KiB only."""
    found = judged(tmp_path, {"a.h": "#define PAGE_SIZE 4096\n"}, machine)
    assert [f.severity for f in found] == [severity]


def test_a_fingerprint_outlives_lines_that_move(tmp_path: Path) -> None:
    """And is another for another line of the same file."""
    before = judged(tmp_path / "a", {"a.h": NGINX.format(body="")})
    moved = judged(tmp_path / "b", {"a.h": "\n" * 30 + "int x;\n" + NGINX.format(body="")})
    assert [f.fingerprint for f in before] == [f.fingerprint for f in moved]
    assert [f.line for f in before] != [f.line for f in moved]
    two = judged(tmp_path / "c", {"a.c": "struct A { } alignas(64);\nstruct B { } alignas(64);\n"})
    assert len({f.fingerprint for f in two}) == 2


def test_whatever_is_in_a_file_it_is_read(tmp_path: Path) -> None:
    """Bytes that are no text, brackets that never close, one very long line."""
    files = {
        "a.c": "\x00\xff" * 100,
        "b.c": "{" * 3000 + "(" * 3000,
        "c.c": "}" * 3000 + ")" * 3000 + "#if\n#elif\n#else\n#else\n#endif\n#endif\n",
        "d.c": "#define A(" + "x," * 20000 + ') asm("pause\n',
        "e.c": 'asm volatile("pause' + "(" * 5000,
        "CMakeLists.txt": 'if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64"' + "(" * 3000,
        "Makefile": "case $arch in " * 500,
        "x.rs": "while x.load(" * 300,
    }
    tree = tree_of(tmp_path, files)
    (tmp_path / "a.c").write_bytes(bytes(range(256)) * 40)
    assert isinstance(judge(read(tree)), list)


@pytest.mark.parametrize(
    "text",
    ["volatile " * 8000, "typedef " * 8000 + "volatile " * 8000, "__asm__(" * 4000,
     '__asm__ volatile ("' * 4000, 'R"(' * 100_000, "volatile" + " " * 60_000],
    ids=["volatile", "typedef", "asm", "asm-text", "raw", "space"],
)  # fmt: skip
def test_a_source_that_is_built_to_be_slow_is_not(text: str, tmp_path: Path) -> None:
    """Each took minutes, or grew with the square of its length."""
    before = time.process_time()
    judged(tmp_path, {"a.c": "int lock;\n" + text})
    assert time.process_time() - before < 10
