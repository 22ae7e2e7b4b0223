//! Fields against instructions as the GNU assembler encodes them.

use super::insn::*;

#[test]
fn branches_have_their_kind_and_distance() {
    for (word, expected) in [
        (0x17FF_FFFF, (Branch::Always, -1)),            // b .-4
        (0x9400_0002, (Branch::Call, 2)),               // bl .+8
        (0x54FF_FFA1, (Branch::Flags(1), -3)),          // b.ne .-12
        (0x3400_0070, (Branch::Zero(16, true), 3)),     // cbz w16, .+12
        (0x35FF_FF91, (Branch::Zero(17, false), -4)),   // cbnz w17, .-16
        (0x3638_0040, (Branch::Bit(0, 7, true), 2)),    // tbz w0, #7, .+8
        (0xB7FF_FFE3, (Branch::Bit(3, 63, false), -1)), // tbnz x3, #63, .-4
    ] {
        assert_eq!(branch(word), Some(expected), "{word:#x}");
    }
    assert_eq!(branch(RET), None);
}

#[test]
fn registers_written_are_those_of_the_manual() {
    for (word, expected) in [
        (0x8B02_0020, bit(0)),            // add x0, x1, x2
        (0x5100_0400, bit(0)),            // sub w0, w0, #1
        (0x7100_041F, 0),                 // cmp w0, #1
        (0xFA51_0020, 0),                 // ccmp x1, x17, #0, eq
        (0xF940_0041, bit(1)),            // ldr x1, [x2]
        (0xB900_0041, 0),                 // str w1, [x2]
        (0xF840_8441, bit(1) | bit(2)),   // ldr x1, [x2], #8
        (0xA8C1_7BFD, bit(29) | bit(30)), // ldp x29, x30, [sp], #16
        (0x885F_7C40, bit(0)),            // ldxr w0, [x2]
        (0x8811_FC41, bit(17)),           // stlxr w17, w1, [x2]
        (0x88E0_FC41, bit(0)),            // casal w0, w1, [x2]
        (0x4820_7C82, bit(0) | bit(1)),   // casp x0, x1, x2, x3, [x4]
        (0xF8E0_0020, bit(0)),            // ldaddal x0, x0, [x1]
        (0xF821_005F, 0),                 // stadd x1, [x2]
        (0xD53B_E041, bit(1)),            // mrs x1, cntvct_el0
        (0x9400_0002, bit(30)),           // bl
        (0x3DC0_0020, 0),                 // ldr q0, [x1]
        (0x9E66_0020, bit(0)),            // fmov x0, d1
        (0x1E27_0020, 0),                 // fmov s0, w1
    ] {
        assert_eq!(writes(word), expected, "{word:#x}");
    }
}

#[test]
fn memory_operands_have_access_and_base() {
    let of = |word| memory(word).map(|memory| (memory.access, memory.base));
    assert_eq!(of(0xF940_0041), Some((Access::Load, 2))); // ldr x1, [x2]
    assert_eq!(of(0x3900_0020), Some((Access::Store, 1))); // strb w0, [x1]
    assert_eq!(of(0xC8DF_FC41), Some((Access::Acquire, 2))); // ldar x1, [x2]
    assert_eq!(of(0xF8BF_C041), Some((Access::Acquire, 2))); // ldapr x1, [x2]
    assert_eq!(of(0x889F_FC41), Some((Access::Release, 2))); // stlr w1, [x2]
    assert_eq!(of(0x885F_7C40), Some((Access::LoadExclusive, 2)));
    assert_eq!(of(0x8811_FC41), Some((Access::StoreExclusive, 2)));
    assert_eq!(of(0xF8A1_8043), Some((Access::Atomic, 2))); // swpa x1, x3, [x2]
    assert_eq!(of(0x8B02_0020), None);
    assert_eq!(memory(0xF862_7820).unwrap().index, Some(2)); // ldr x0, [x1, x2, lsl #3]
}

#[test]
fn numbers_are_decoded() {
    assert_eq!(constant(0xD280_0200), Some((0, 16))); // mov x0, #16
    assert_eq!(constant(0x5280_1901), Some((1, 200))); // mov w1, #200
    assert_eq!(add_number(0x5100_0400), Some((0, 0, -1))); // sub w0, w0, #1
    assert_eq!(compare_number(0x3100_041F), Some((0, -1))); // cmn w0, #1
    assert_eq!(compare_number(0xF140_041F), Some((0, 0x1000))); // cmp x0, #1, lsl #12
    assert_eq!(logical_number(0x7219_001F), Some(0x80)); // tst w0, #0x80
    assert_eq!(logical_number(0xF240_1C1F), Some(0xFF)); // tst x0, #0xff
    assert_eq!(bit_field(0x5308_2000), Some((8, 1))); // ubfx w0, w0, #8, #1
    assert_eq!(adrp(0x9000_0010, 0x12345), 0x12000);
    assert_eq!(adrp(0xF000_0010, 0x12345), 0x15000);
}
