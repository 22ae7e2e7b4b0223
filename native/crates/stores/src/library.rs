//! A shared library and the functions of its C interface, by their names.

use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::StoreError;

/// A library that stays loaded: its threads and what it does at the end of the process are its own.
pub struct Loaded {
    library: ManuallyDrop<Library>,
    asked: String,
}

impl Loaded {
    /// Loads a library by its path, or by a name that the loader finds.
    ///
    /// # Errors
    /// `Library` when there is none, or one of another architecture, or one that lacks others.
    pub fn load(path: &Path) -> Result<Self, StoreError> {
        let asked = path.display().to_string();
        // All its symbols are resolved now: one that is absent must not end the process later.
        // SAFETY: initialisers of the library run, as its user asks for.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|error| StoreError::Library {
            library: asked.clone(),
            reason: error.to_string(),
        })?;
        Ok(Self { library: ManuallyDrop::new(library), asked })
    }

    /// A function of the library; `purpose` is what needs it.
    ///
    /// # Safety
    /// `T` must be the pointer type of the function's real signature.
    ///
    /// # Errors
    /// `Symbol` when the library does not have it.
    pub unsafe fn function<T: Copy>(
        &self,
        name: &'static str,
        purpose: &str,
    ) -> Result<T, StoreError> {
        // SAFETY: the caller vouches for the type.
        let found = unsafe { self.library.get::<T>(name.as_bytes()) };
        found.map(|symbol| *symbol).map_err(|_| StoreError::Symbol {
            library: self.asked.clone(),
            symbol: name,
            purpose: purpose.to_owned(),
        })
    }

    /// A function that only some versions have.
    ///
    /// # Safety
    /// As of [`Loaded::function`].
    pub unsafe fn optional<T: Copy>(&self, name: &'static str) -> Option<T> {
        // SAFETY: the caller vouches for the type.
        unsafe { self.function(name, "") }.ok()
    }

    /// As it was asked for.
    pub fn asked(&self) -> &str {
        &self.asked
    }
}

/// The file that the function at an address came from, links resolved; none if the loader does not
/// say.
pub fn file_of(function: usize) -> Option<PathBuf> {
    // SAFETY: all zero is a valid value of pointers and numbers.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let address = std::ptr::without_provenance::<c_void>(function);
    // SAFETY: the call takes any address, and only writes the structure.
    let found = unsafe { libc::dladdr(address, &raw mut info) } != 0;
    if !found || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name is a terminated text of the loader's, which stays as the library does.
    let name = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned();
    std::fs::canonicalize(name).ok()
}

/// Declares a table of functions: those that every version has, then those that some lack.
macro_rules! c_interface {
    (
        $(#[$attribute:meta])* $name:ident for $purpose:literal;
        $(fn $function:ident($($kind:ty),* $(,)?) $(-> $result:ty)?;)+
        $(optional fn $some:ident($($some_kind:ty),* $(,)?) $(-> $some_result:ty)?;)*
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $(pub $function: unsafe extern "C" fn($($kind),*) $(-> $result)?,)+
            $(pub $some: Option<unsafe extern "C" fn($($some_kind),*) $(-> $some_result)?>,)*
        }

        impl $name {
            /// Finds all functions.
            ///
            /// # Errors
            /// `Symbol` for the first that is absent.
            pub fn find(library: &$crate::library::Loaded) -> Result<Self, $crate::StoreError> {
                // SAFETY: the signatures are those of the library's header.
                unsafe {
                    Ok(Self {
                        $($function: library.function(stringify!($function), $purpose)?,)+
                        $($some: library.optional(stringify!($some)),)*
                    })
                }
            }
        }
    };
}
pub(crate) use c_interface;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_library_is_told_with_its_path() {
        let Err(StoreError::Library { library, .. }) = Loaded::load(Path::new("/dev/null")) else {
            panic!("/dev/null is no library");
        };
        assert_eq!(library, "/dev/null");
    }

    #[test]
    fn a_function_that_a_library_lacks_is_named() {
        // The C library is loaded already, wherever it is.
        let library = Loaded::load(Path::new("libc.so.6")).unwrap();
        // SAFETY: there is no such function, so its type does not matter.
        let absent = unsafe { library.function::<usize>("assay_absent", "a test") };
        let text = absent.unwrap_err().to_string();
        assert!(text.contains("assay_absent") && text.contains("a test"), "{text}");
        // SAFETY: nothing is called.
        let present = unsafe { library.function::<usize>("getpid", "a test") };
        let file = file_of(present.unwrap()).unwrap();
        assert!(file.file_name().unwrap().to_string_lossy().starts_with("libc"), "{file:?}");
    }
}
