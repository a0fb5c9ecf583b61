//! The types of boxed futures that traits of this crate return.

use std::future::Future;
use std::pin::Pin;

use crate::Error;

/// A boxed future, so that traits with asynchronous methods can be used as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A boxed future of something that can fail.
pub type ResultFuture<'a, T> = BoxFuture<'a, Result<T, Error>>;
