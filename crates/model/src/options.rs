//! Structs of options, each field with its default beside it.

/// Makes a struct whose default has the values behind its fields, and of the other fields that of their type.
#[doc(hidden)]
#[macro_export]
macro_rules! options {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$of:meta])* $field_vis:vis $field:ident: $type:ty $(= $default:expr)?,)+
    }) => {
        $(#[$meta])*
        $vis struct $name { $($(#[$of])* $field_vis $field: $type,)+ }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::options!(@ $($default)?),)+ }
            }
        }
    };
    (@) => { Default::default() };
    (@ $default:expr) => { $default };
}
