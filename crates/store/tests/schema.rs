//! Databases that earlier migrations wrote are opened, and keep what they hold.
