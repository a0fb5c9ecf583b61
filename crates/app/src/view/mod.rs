//! Serialisable answers, one type for each noun: `rep X --json`, `GET /api/v1/X` and embedders get the same
//! one.

mod catalog;
mod client;
mod detail;
mod diagnostic;
mod doctor;
mod explanation;
mod listing;
mod origin;
mod proposal;
mod search;
mod skill;
mod stats;
mod undo;
mod version;

pub use catalog::{CatalogView, ShownSkillView, SkillNeedView};
pub use client::{AdviceView, ClientSkillView, ClientView, SkillWay};
pub use detail::{
    CatalogLineView, NamesakeView, ServerSkillView, ShownFileView, SkillDetailView, SkillToolView, UpdateView,
};
pub use diagnostic::{DiagnosticView, path_of};
pub use doctor::{CheckStatus, CheckView, DoctorView};
pub use explanation::{
    AbsenceView, ExplainedSkillView, ExplanationView, NearMissReason, NearMissView, SearchedPlaceView,
    SeeingAgentView, SeeingClientView, SkillDecisionView,
};
pub use listing::{ListedSkillView, ListingView};
pub use origin::{BrokenRecordView, OriginReportView, OriginView, RecordedSkillView};
pub use proposal::{
    ChangedQueryView, CheckLineView, DecisionView, ProposalDetailView, ProposalListView, ProposalView,
    TokenChangeView, TriggerEffectView, TriggerShareView,
};
pub use search::{FoundSkillView, MatchedWordView, SearchView, SectionView};
pub use skill::{DisabledByView, FileListView, FileView, SkillTokensView, SkillView, UsageView, address_of};
pub use stats::{
    ClientRecordView, ClientUseView, ConcentrationView, ReadFileView, StatsView, UnreadFileView,
    UnusedSkillView, UsageTotalsView, UsedFileView, UsedSkillView,
};
pub use undo::{ChangeView, UndoListView, UndoView};
pub use version::{
    PublicationView, RollbackView, ServerVersionsView, VersionDiffView, VersionListView, VersionView,
};
