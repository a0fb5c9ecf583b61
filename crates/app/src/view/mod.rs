//! Serialisable answers, one type for each noun: `rep X --json`, `GET /api/v1/X` and embedders get the same one.

mod catalog;
mod client;
mod diagnostic;
mod proposal;
mod search;
mod skill;
mod version;

pub use catalog::{CatalogView, ShownSkillView, SkillNeedView};
pub use client::{AdviceView, ClientSkillView, ClientView, SkillWay};
pub use diagnostic::{DiagnosticView, path_of};
pub use proposal::{
    ChangedQueryView, CheckLineView, DecisionView, ProposalDetailView, ProposalListView, ProposalView,
    TokenChangeView, TriggerEffectView, TriggerShareView,
};
pub use search::{FoundSkillView, MatchedWordView, SearchView, SectionView};
pub use skill::{DisabledByView, FileListView, FileView, SkillTokensView, SkillView, UsageView, address_of};
pub use version::{
    PublicationView, RollbackView, ServerVersionsView, VersionDiffView, VersionListView, VersionView,
};
