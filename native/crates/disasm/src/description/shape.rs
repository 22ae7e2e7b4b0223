//! The instructions of a function without the numbers in them: what stays when only the number of a
//! line (`__LINE__`) or a constant has changed.

use std::fmt::Write;

use iced_x86::{Decoder, DecoderOptions, OpKind};

use crate::survey::file::Arch;

/// What each instruction does and to which registers.
pub fn shape(arch: Arch, code: &[u8]) -> String {
    match arch {
        Arch::X64 => x64(code),
        Arch::A64 => a64(code),
    }
}

fn x64(code: &[u8]) -> String {
    let mut said = String::new();
    for instruction in Decoder::with_ip(64, code, 0, DecoderOptions::NONE) {
        let _ = write!(said, "{:?}", instruction.mnemonic());
        for place in 0..instruction.op_count() {
            let _ = match instruction.op_kind(place) {
                OpKind::Register => write!(said, " {:?}", instruction.op_register(place)),
                OpKind::Memory => write!(
                    said,
                    " [{:?}+{:?}*{}+{}]",
                    instruction.memory_base(),
                    instruction.memory_index(),
                    instruction.memory_index_scale(),
                    instruction.memory_displacement64().cast_signed()
                ),
                OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {
                    write!(said, " ->")
                }
                _ => write!(said, " number"),
            };
        }
        said.push('\n');
    }
    said
}

/// Wide moves without their number; all else as it is.
fn a64(code: &[u8]) -> String {
    const WIDE: u32 = 0x1F80_0000;
    const MOVE: u32 = 0x1280_0000;
    let mut said = String::new();
    for word in code.chunks_exact(4) {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let is_move = word & WIDE == MOVE;
        let _ = writeln!(said, "{:08x}", if is_move { word & !(0xFFFF << 5) } else { word });
    }
    said
}
