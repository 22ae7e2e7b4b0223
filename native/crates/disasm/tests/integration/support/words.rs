//! Short functions for aarch64, as the GNU assembler encodes them.

/// `1: ldaxr w1,[x0]; cbnz w1,1b; stxr w2,w3,[x0]; cbnz w2,1b; ret`
pub const LLSC_LOCK: &[u32] = &[0x885F_FC01, 0x35FF_FFE1, 0x8802_7C03, 0x35FF_FFA2, 0xD65F_03C0];
/// `1: ldar w1,[x0]; cbnz w1,1b; ret`
pub const ACQUIRE: &[u32] = &[0x88DF_FC01, 0x35FF_FFE1, 0xD65F_03C0];
/// `1: ldr w1,[x0]; cmp w1,#0; b.ne 1b; ret`
pub const PLAIN: &[u32] = &[0xB940_0001, 0x7100_003F, 0x54FF_FFC1, 0xD65F_03C0];
/// `1: mov w1,#1; swpa w1,w2,[x0]; cbnz w2,1b; ret`
pub const LSE_LOCK: &[u32] = &[0x5280_0021, 0xB8A1_8002, 0x35FF_FFC2, 0xD65F_03C0];
/// `1: ldar w1,[x0]; yield; cbnz w1,1b; ret`
pub const YIELDING: &[u32] = &[0x88DF_FC01, 0xD503_203F, 0x35FF_FFC1, 0xD65F_03C0];
/// `1: ldr w1,[x0]; cmn w1,#1; b.eq 2f; add w2,w1,#1; mov w3,w1; casal w3,w2,[x0]; cmp w3,w1;
/// b.eq 3f; 2: sub w4,w4,#1; cbnz w4,1b; 3: ret`
pub const READER_LOCK: &[u32] = &[
    0xB940_0001,
    0x3100_043F,
    0x5400_00C0,
    0x1100_0422,
    0x2A01_03E3,
    0x88E3_FC02,
    0x6B01_007F,
    0x5400_0060,
    0x5100_0484,
    0x35FF_FEE4,
    0xD65F_03C0,
];
/// `1: ldr x1,[x19]; ldr w2,[x1]; cbnz w2,1b; ret`
pub const CHASED: &[u32] = &[0xF940_0261, 0xB940_0022, 0x35FF_FFC2, 0xD65F_03C0];
/// `1: ldr w1,[x0]; add w2,w1,#1; mov w3,w1; casal w3,w2,[x0]; cmp w3,w1; b.ne 1b; ret`
pub const RETRY_CAS: &[u32] =
    &[0xB940_0001, 0x1100_0422, 0x2A01_03E3, 0x88E3_FC02, 0x6B01_007F, 0x54FF_FF61, 0xD65F_03C0];
/// `1: ldrb w1,[x0],#1; cbnz w1,1b; ret`
pub const STRING: &[u32] = &[0x3840_1401, 0x35FF_FFE1, 0xD65F_03C0];
/// `1: ldr x0,[x0]; cbnz x0,1b; ret`
pub const LIST: &[u32] = &[0xF940_0000, 0xB5FF_FFE0, 0xD65F_03C0];
/// `1: ldxr w1,[x0]; add w1,w1,#1; stxr w2,w1,[x0]; cbnz w2,1b; ret`
pub const RETRY_LLSC: &[u32] = &[0x885F_7C01, 0x1100_0421, 0x8802_7C01, 0x35FF_FFA2, 0xD65F_03C0];
/// `1: ldr x1,[x2],#8; str x1,[x3],#8; cmp x2,x4; b.ne 1b; ret`
pub const COPY: &[u32] = &[0xF840_8441, 0xF800_8461, 0xEB04_005F, 0x54FF_FFA1, 0xD65F_03C0];
/// `1: ldr w1,[x0,x2]; add x2,x2,#4; cmp x2,x3; b.ne 1b; ret`
pub const COUNTED: &[u32] = &[0xB862_6801, 0x9100_1042, 0xEB03_005F, 0x54FF_FFA1, 0xD65F_03C0];
/// `1: ldr w1,[x0]; blr x2; cbnz w1,1b; ret`
pub const CALLING: &[u32] = &[0xB940_0001, 0xD63F_0040, 0x35FF_FFC1, 0xD65F_03C0];
/// `1: ldr w1,[sp,#8]; cbnz w1,1b; ret`
pub const STACK: &[u32] = &[0xB940_0BE1, 0x35FF_FFE1, 0xD65F_03C0];
/// `mov w0,#200; 1: sub w0,w0,#1; cmn w0,#1; b.ne 1b; ret`
pub const DELAY: &[u32] = &[0x5280_1900, 0x5100_0400, 0x3100_041F, 0x54FF_FFC1, 0xD65F_03C0];
/// `mov w0,#50; 1: sub w0,w0,#1; cmn w0,#1; b.ne 1b; ldadda w1,w2,[x3]; ret`
pub const DELAY_NEAR: &[u32] =
    &[0x5280_0640, 0x5100_0400, 0x3100_041F, 0x54FF_FFC1, 0xB8A1_0062, 0xD65F_03C0];
/// `adrp x16,.; ldrb w1,[x16,#8]; tbz w1,#0,2f; ldaddal w2,w3,[x0]; ret; 2: ldaxr w3,[x0];
/// add w4,w3,w2; stlxr w5,w4,[x0]; cbnz w5,2b; ret`
pub const GUARDED: &[u32] = &[
    0x9000_0010,
    0x3940_2201,
    0x3600_0061,
    0xB8E2_0003,
    0xD65F_03C0,
    0x885F_FC03,
    0x0B02_0064,
    0x8805_FC04,
    0x35FF_FFA5,
    0xD65F_03C0,
];
/// `1: dmb sy; sub w0,w0,#1; cbnz w0,1b; dsb ish; ret`
pub const BARRIER: &[u32] = &[0xD503_3FBF, 0x5100_0400, 0x35FF_FFC0, 0xD503_3B9F, 0xD65F_03C0];
/// `mrs x0,cntvct_el0; isb; mrs x1,id_aa64isar0_el1; ret`
pub const TIMER: &[u32] = &[0xD53B_E040, 0xD503_3FDF, 0xD538_0601, 0xD65F_03C0];
/// `crc32cx w0,w0,x1; ret`
pub const CRC: &[u32] = &[0x9AC1_5C00, 0xD65F_03C0];
/// `1: add x1,x1,#1; ldr x2,[x0]; cmp x2,x1; b.hi 1b; ret`
pub const COUNTER: &[u32] = &[0x9100_0421, 0xF940_0002, 0xEB01_005F, 0x54FF_FFA8, 0xD65F_03C0];
/// `1: ldr w1,[x0]; str w3,[x0]; cbnz w1,1b; ret`
pub const STORING: &[u32] = &[0xB940_0001, 0xB900_0003, 0x35FF_FFC1, 0xD65F_03C0];
/// `1: ldr w1,[x0]; cbz w1,3f; b 2f; ret; 2: ldr w2,[x0,#4]; cbnz w2,1b; 3: ret`
pub const APART: &[u32] =
    &[0xB940_0001, 0x3400_00A1, 0x1400_0002, 0xD65F_03C0, 0xB940_0402, 0x35FF_FF62, 0xD65F_03C0];
/// `1: ldr w1,[x0]; ret; ldr w1,[x0]; cbnz w1,1b; ret`
pub const NOLOOP: &[u32] = &[0xB940_0001, 0xD65F_03C0, 0xB940_0001, 0x35FF_FFA1, 0xD65F_03C0];
/// `1: ldr w1,[x0]; mov w3,w1; casal w3,w4,[x0]; cmp w3,w1; b.ne 1b; ret`
pub const RETRY_STATE: &[u32] =
    &[0xB940_0001, 0x2A01_03E3, 0x88E3_FC04, 0x6B01_007F, 0x54FF_FF81, 0xD65F_03C0];
