//! Feeds arbitrary text to the path and name grammars, and holds what must hold of whatever they let through.
#![no_main]

use libfuzzer_sys::fuzz_target;
use repertoire_model::text::{is_control_or_invisible, is_variation_selector};
use repertoire_model::{SkillName, SkillPath};

fuzz_target!(|text: &str| {
    if let Ok(path) = SkillPath::new(text) {
        assert_eq!(path.as_str(), text);
        assert!(!text.starts_with('/') && !text.contains(['\\', '\0', ':']));
        assert!(path.components().all(|part| !part.is_empty() && part != "." && part != ".."));
        let native = std::path::Path::new(text);
        assert!(native.components().all(|part| matches!(part, std::path::Component::Normal(_))));
        let _ = path.collision_key();
    }
    for name in [SkillName::new(text), SkillName::slug(text)].into_iter().flatten() {
        assert_eq!(SkillName::new(name.as_str()).as_ref(), Some(&name));
        assert!(SkillPath::new(name.as_str()).is_ok() || name.as_str().ends_with('.') || is_device(name.as_str()));
        assert!(!name.as_str().contains(['/', '\\', ':', '\0', ' ', '\n']));
        assert!(!name.as_str().contains(|c| is_control_or_invisible(c) || is_variation_selector(c)));
    }
});

/// A name is not a path: `con` is a fine name and no file name on Windows.
fn is_device(name: &str) -> bool {
    matches!(SkillPath::new(name), Err(repertoire_model::PathFault::DeviceName | repertoire_model::PathFault::TooLong | repertoire_model::PathFault::NotNormalised))
}
