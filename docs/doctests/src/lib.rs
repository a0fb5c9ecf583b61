//! Runs the Rust examples of the documentation as tests.

macro_rules! pages {
    ($($name:ident $path:literal)+) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../", $path))]
            struct $name;
        )+
    };
}

pages! {
    Introduction "docs/introduction.md"
    Embedding "docs/guides/embedding.md"
    HotReload "docs/guides/hot-reload.md"
    Searching "docs/guides/searching.md"
    ToolsInSkills "docs/guides/tools-in-skills.md"
}
