//! The parts of a skill in which search finds words.

crate::words! {
    /// A part of a skill in which search finds words.
    #[derive(PartialOrd, Ord)]
    Field {
        /// The name, with its parts.
        Name "name",
        /// The description, without the clauses that say what the skill is not for.
        Description "description",
        /// Tags and trigger keywords.
        Keywords "keywords",
        /// The headings of the instructions.
        Headings "headings",
        /// The prose of the instructions.
        Prose "body",
        /// The code in the instructions.
        Code "code",
        /// The names and the beginnings of the files beside it.
        Files "files",
        /// The clauses of the description that say what the skill is not for.
        Excluded "excluded",
    }
}
