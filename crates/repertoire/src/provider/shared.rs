//! Shared providers are providers.

use std::sync::Arc;

use repertoire_model::{Bundle, Digest, LineRange, SkillPath};

use super::{
    Changes, FileContent, FileListing, Listing, Locator, Memo, OpenedSkill, Provider, Skill, WatchPoint,
};
use crate::Error;
use crate::future::BoxFuture;

impl<T: Provider + ?Sized> Provider for Arc<T> {
    fn label(&self) -> &str {
        (**self).label()
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>> {
        (**self).list()
    }

    fn relist<'a>(&'a self, changes: &'a Changes) -> BoxFuture<'a, Result<Listing, Error>> {
        (**self).relist(changes)
    }

    fn watch_points(&self) -> Option<Vec<WatchPoint>> {
        (**self).watch_points()
    }

    fn watch_epoch(&self) -> Option<u64> {
        (**self).watch_epoch()
    }

    fn get<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Option<Skill>, Error>> {
        (**self).get(locator)
    }

    fn files<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<FileListing, Error>> {
        (**self).files(locator)
    }

    fn open<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Option<OpenedSkill>, Error>> {
        (**self).open(locator)
    }

    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> BoxFuture<'a, Result<FileContent, Error>> {
        (**self).read(locator, path, lines)
    }

    fn bundle<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Bundle, Error>> {
        (**self).bundle(locator)
    }

    fn digest<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Digest, Error>> {
        (**self).digest(locator)
    }

    fn memo(&self) -> Option<&dyn Memo> {
        (**self).memo()
    }
}
