"""Shapes of C that several rules look for: pauses, assembly, intrinsics, barriers."""

from __future__ import annotations

import re

ASM = re.compile(r"\b(?:asm|__asm__|__asm)\b\s*(?:volatile|__volatile__|__volatile|goto)?\s*\(")
PAUSE = re.compile(
    r"_mm_pause\s*\(|__builtin_ia32_pause\s*\(|\bYieldProcessor\s*\("
    r"|asm(?:__)?\b[^;]*?\"[^\"]*(?:\bpause\b|\brep\s*;\s*nop\b|0xf3\s*,\s*0x90)",
    re.DOTALL,
)
"""A spin hint of x86-64."""

ARM_HINT = re.compile(
    r"asm(?:__)?\b[^;]*?\"[^\"]*\b(?:isb|sb|wfe|wfet|yield|sevl)\b"
    r"|__isb\s*\(|__yield\s*\(|__wfe\s*\(|__builtin_arm_(?:isb|yield|wfe)|__arm_wfe",
    re.DOTALL,
)
"""A spin hint of aarch64."""

YIELD = re.compile(r"asm(?:__)?\b[^;]*?\"[^\"]*\byield\b|__yield\s*\(|__builtin_arm_yield")

EMPTYISH = re.compile(
    r"\s*(?:"
    r"\(?\s*\(\s*void\s*\)\s*0\s*\)?"
    r"|do\s*\{\s*(?:\(void\)\s*0\s*;?\s*)?\}\s*while\s*\(\s*(?:0|false)\s*\)"
    r"|\{\s*\}|\(\s*\{\s*\}\s*\)"
    r"|\b_?_?asm_?_?\b\s*(?:volatile|__volatile__|__volatile)?\s*\(\s*\"\s*\"[^;]*\)"
    r"|__sync_synchronize\s*\(\s*\)|\w*barrier\w*\s*\(\s*\)|__COMPILER_BARRIER\s*\(\s*\)"
    r"|continue|return"
    r")?\s*;?\s*",
    re.IGNORECASE,
)
"""Nothing, or a barrier of the compiler's, or of memory: no hint, at any rate."""

INTRINSICS = re.compile(r"\b_mm\d*_\w+\s*\(|\b__builtin_ia32_\w+\s*\(")
X86_HEADER = re.compile(
    r"^(?:[xeptsnwiba]mmintrin|x86intrin|immintrin|cpuid|avx\w*intrin|popcntintrin|rtmintrin"
    r"|wmmintrin|bmi\w*intrin|ia32intrin)\.h$"
)
ARM_HEADER = re.compile(r"^(?:arm_neon|arm_acle|arm_sve|sse2neon|sse2neon|simde/.*)\.h$|simde")
ARM_MACRO = re.compile(r"__aarch64__|__arm64__|_M_ARM64|__ARM_\w+|\b\w*(?:ARM64|AARCH64|NEON)\w*")
X86_MACRO = re.compile(
    r"__x86_64|__amd64|__i386|_M_X64|_M_AMD64|_M_IX86|__SSE|__AVX|__PCLMUL|"
    r"\b\w*(?:X86|AMD64|I386|IA32|SSE[2-4]|AVX)\w*",
    re.IGNORECASE,
)
BARRIER = re.compile(
    r"barrier|__sync_|__atomic_|atomic_|fence|_release\b|_acquire\b|\bisb\b|\bdmb\b|mutex|"
    r"smp_|memory_order",
    re.IGNORECASE,
)


def closing(text: str, opened: int) -> int:
    """The offset after the parenthesis that closes the one at `opened`; the end if none does."""
    depth = 0
    for match in re.finditer(r"[()]", text[opened : opened + 20_000]):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return opened + match.end()
    return min(len(text), opened + 20_000)


def squeezed(text: str) -> str:
    """On one line, single spaces, not too long to show."""
    plain = " ".join(text.split())
    return plain if len(plain) <= 110 else plain[:107] + "..."
