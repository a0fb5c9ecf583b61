//! Enums whose values go by words on every surface.

/// Makes an enum whose values go by words.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$of:meta])* $value:ident $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$of])* $value,)+ }

        impl $name {
            /// Every choice.
            pub const ALL: [Self; [$(Self::$value),+].len()] = [$(Self::$value),+];

            /// Returns the word used on every surface.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$value => $word,)+ }
            }

            /// Returns the choice called `word`.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|choice| choice.as_str() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
