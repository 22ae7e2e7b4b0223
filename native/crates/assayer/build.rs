//! Asks the linker for a build id, the only name of a binary that cannot be mistaken.
//!
//! Some distributions' compilers pass the option anyway and some do not; results must carry one on
//! every host.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-Wl,--build-id=sha1");
}
