"""The two worlds: what GCC predefines on Linux for x86-64 and for aarch64.

What a flag may change (vector extensions beyond the baseline, CRC, LSE) is "perhaps" in its own
world and absent from the other. What neither defines (other processors, systems and compilers)
is absent from both. Everything else is unknown: it is the build's.
"""

from __future__ import annotations

from assay.readiness.source.tristate import ABSENT


def _words(text: str) -> list[str]:
    return text.split()


_COMMON: dict[str, str | None] = {
    "__GNUC__": "12", "__GNUC_MINOR__": "2", "__GNUC_PATCHLEVEL__": "0", "__linux__": "1",
    "__linux": "1", "linux": "1", "__gnu_linux__": "1", "__unix__": "1", "__unix": "1",
    "unix": "1", "__ELF__": "1", "__LP64__": "1", "_LP64": "1", "__STDC__": "1",
    "__STDC_HOSTED__": "1", "__CHAR_BIT__": "8", "__SIZEOF_POINTER__": "8",
    "__SIZEOF_LONG__": "8", "__SIZEOF_INT__": "4", "__SIZEOF_LONG_LONG__": "8",
    "__SIZEOF_SIZE_T__": "8", "__SIZEOF_INT128__": "16", "__WORDSIZE": "64",
    "__ORDER_LITTLE_ENDIAN__": "1234", "__ORDER_BIG_ENDIAN__": "4321", "__BYTE_ORDER__": "1234",
    "__FLOAT_WORD_ORDER__": "1234", "__LITTLE_ENDIAN__": None, "__GLIBC__": "2",
    "__GLIBC_MINOR__": "36", "__GCC_HAVE_SYNC_COMPARE_AND_SWAP_1": "1",
    "__GCC_HAVE_SYNC_COMPARE_AND_SWAP_2": "1", "__GCC_HAVE_SYNC_COMPARE_AND_SWAP_4": "1",
    "__GCC_HAVE_SYNC_COMPARE_AND_SWAP_8": "1", "__GCC_ATOMIC_INT_LOCK_FREE": "2",
    "__GCC_ATOMIC_LLONG_LOCK_FREE": "2", "__GCC_ATOMIC_POINTER_LOCK_FREE": "2",
    "__GCC_ASM_FLAG_OUTPUTS__": "1", "__USER_LABEL_PREFIX__": "", "__ATOMIC_RELAXED": "0",
    "__ATOMIC_CONSUME": "1", "__ATOMIC_ACQUIRE": "2", "__ATOMIC_RELEASE": "3",
    "__ATOMIC_ACQ_REL": "4", "__ATOMIC_SEQ_CST": "5",
}  # fmt: skip

_X86 = {
    "__x86_64__": "1", "__x86_64": "1", "__amd64__": "1", "__amd64": "1", "__k8__": "1",
    "__MMX__": "1", "__SSE__": "1", "__SSE2__": "1", "__SSE_MATH__": "1", "__SSE2_MATH__": "1",
    "__FXSR__": "1", "__SEG_FS": "1", "__SEG_GS": "1", "__SIZEOF_FLOAT80__": "16",
    "__SIZEOF_FLOAT128__": "16", "__code_model_small__": "1",
}  # fmt: skip
_X86_PERHAPS = _words(
    "__SSE3__ __SSSE3__ __SSE4_1__ __SSE4_2__ __SSE4A__ __AVX__ __AVX2__ __AVX512F__ __AVX512BW__ "
    "__AVX512VL__ __AVX512DQ__ __AVX512CD__ __AVX512VBMI__ __AVX512VNNI__ __PCLMUL__ __AES__ "
    "__BMI__ __BMI2__ __LZCNT__ __POPCNT__ __FMA__ __F16C__ __RTM__ __SHA__ __VPCLMULQDQ__ "
    "__VAES__ __GFNI__ __MOVBE__ __RDRND__ __RDSEED__ __CRC32__ __ADX__ __CLFLUSHOPT__ __CLWB__ "
    "__WAITPKG__ __XSAVE__ __tune_k8__ __tune_core2__"
)

_ARM = {
    "__aarch64__": "1", "__AARCH64EL__": "1", "__ARM_64BIT_STATE": "1", "__ARM_ARCH": "8",
    "__ARM_ARCH_8A": "1", "__ARM_ARCH_ISA_A64": "1", "__ARM_ARCH_PROFILE": "65",
    "__ARM_NEON": "1", "__ARM_FP": "14", "__ARM_FEATURE_CLZ": "1", "__ARM_FEATURE_FMA": "1",
    "__ARM_FEATURE_IDIV": "1", "__ARM_FEATURE_UNALIGNED": "1", "__ARM_PCS_AAPCS64": "1",
    "__ARM_FEATURE_NUMERIC_MAXMIN": "1", "__ARM_SIZEOF_WCHAR_T": "4",
    "__AARCH64_CMODEL_SMALL__": "1", "__CHAR_UNSIGNED__": "1",
    "__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16": "1",
}  # fmt: skip
_ARM_PERHAPS = _words(
    "__ARM_FEATURE_CRC32 __ARM_FEATURE_CRYPTO __ARM_FEATURE_AES __ARM_FEATURE_SHA2 "
    "__ARM_FEATURE_SHA3 __ARM_FEATURE_SHA512 __ARM_FEATURE_ATOMICS __ARM_FEATURE_SVE "
    "__ARM_FEATURE_SVE2 __ARM_FEATURE_SVE_BITS __ARM_FEATURE_DOTPROD __ARM_FEATURE_QRDMX "
    "__ARM_FEATURE_MATMUL_INT8 __ARM_FEATURE_BF16 __ARM_FEATURE_RCPC __ARM_FEATURE_LSE2 "
    "__ARM_FEATURE_BTI_DEFAULT __ARM_FEATURE_PAC_DEFAULT __ARM_FEATURE_MEMORY_TAGGING "
    "__ARM_FEATURE_TME __ARM_FEATURE_SME __ARM_NEON__"
)

_NEITHER = _words(
    # processors
    "__i386__ __i386 i386 __i486__ __i586__ __i686__ _M_IX86 _M_X64 _M_AMD64 _M_ARM _M_ARM64 "
    "_M_ARM64EC _M_PPC __arm__ __arm __thumb__ __ARM_EABI__ __ARM_ARCH_7A__ __ARM_ARCH_6__ "
    "__ARM_BIG_ENDIAN "
    "__AARCH64EB__ __ARMEB__ __powerpc__ __powerpc64__ __ppc__ __ppc64__ __PPC__ __PPC64__ "
    "_ARCH_PPC "
    "_ARCH_PPC64 _ARCH_PWR8 _ARCH_PWR9 __POWERPC__ __powerpc __ppc __ALTIVEC__ __VSX__ __s390__ "
    "__s390x__ __zarch__ __sparc__ __sparc __sparcv9 __sparcv8 __sparc_v9__ __sparc64__ __mips__ "
    "__mips __mips64 __MIPSEL__ __MIPSEB__ __alpha__ __alpha __ia64__ __ia64 _M_IA64 __hppa__ "
    "__hppa __m68k__ __m68k __m88k__ __sh__ __SH4__ __riscv __riscv__ __riscv_xlen "
    "__loongarch__ __loongarch64 __loongarch_lp64 __vax__ __ILP32__ __x86__ __e2k__ __wasm__ "
    "__EMSCRIPTEN__ __tilegx__ __BIG_ENDIAN__ _BIG_ENDIAN _ILP32 __CYGWIN__ __xtensa__ "
    # systems
    "_WIN32 WIN32 _WIN64 WIN64 __WIN32__ __MINGW32__ __MINGW64__ _WIN32_WCE OS_WIN __APPLE__ "
    "__MACH__ __APPLE_CC__ MACOSX __FreeBSD__ __FreeBSD_kernel__ __NetBSD__ __OpenBSD__ "
    "__DragonFly__ __sun sun __sun__ __svr4__ _AIX __hpux __HAIKU__ __ANDROID__ ANDROID __QNX__ "
    "__QNXNTO__ __VMS __osf__ __sgi __minix __GNU__ __BEOS__ OS_MACOSX OS_FREEBSD OS_SOLARIS "
    "__Fuchsia__ __native_client__ __serenity__ "
    # compilers
    "_MSC_VER __SUNPRO_C __SUNPRO_CC __IBMC__ __IBMCPP__ __xlC__ __xlc__ __INTEL_COMPILER __ICC "
    "__INTEL_LLVM_COMPILER __ARMCC_VERSION __CC_ARM __ICCARM__ __TINYC__ __BORLANDC__ __DMC__ "
    "__WATCOMC__ "
    "__HP_cc __HP_aCC __PGI __NVCOMPILER __clang__ __clang_major__ __llvm__ __DECC __DECC_VER "
    "__lint "
    "__lint__ lint __CUDACC__ __COVERITY__ __clang_analyzer__"
)


def _world(mine: dict[str, str], perhaps: list[str], others: list[str]) -> dict[str, object]:
    table: dict[str, object] = dict.fromkeys((*_NEITHER, *others), ABSENT)
    return {**table, **_COMMON, **dict.fromkeys(perhaps), **mine}


X86_64 = _world(_X86, _X86_PERHAPS, [*_ARM, *_ARM_PERHAPS])
AARCH64 = _world(_ARM, _ARM_PERHAPS, [*_X86, *_X86_PERHAPS])

# GCC's own flag that both have in part.
X86_64["__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16"] = None
