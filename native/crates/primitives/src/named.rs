//! Closed enums whose values are named in requests and results.

/// Defines an enum with `ALL` and `name`: `Variant "name"`, each with its documentation.
#[macro_export]
macro_rules! named {
    (
        $(#[$attribute:meta])*
        pub enum $kind:ident { $($(#[$about:meta])* $variant:ident $name:literal,)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind { $($(#[$about])* $variant,)+ }

        impl $kind {
            /// Every value.
            pub const ALL: [$kind; [$($name),+].len()] = [$($kind::$variant),+];

            /// The name used in requests and results.
            pub fn name(self) -> &'static str {
                match self { $($kind::$variant => $name,)+ }
            }
        }
    };
}
