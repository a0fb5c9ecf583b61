//! Origins of skills, as each installer records them.

use std::fs;
use std::path::{Path, PathBuf};

use repertoire_model::{Document, Manifest, ManifestSource, Policy};
use repertoire_sources::origin::{
    Comparison, InstalledFiles, Installer, Origin, OriginBase, Origins, folder_hash,
};

struct Project(tempfile::TempDir);

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.0.path().join(relative)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self) -> Origins {
        let base = OriginBase {
            directory: self.path(""),
            skill_directories: vec![self.path(".agents/skills"), self.path(".github/skills")],
            record_directories: vec![self.path(".agents")],
        };
        Origins::read(&[base])
    }

    fn origins(&self, skill: &str) -> Vec<Origin> {
        let directory = self.path(skill);
        let manifest = manifest(&directory.join("SKILL.md"));
        self.read().of(&[directory], skill.rsplit('/').next().unwrap(), &manifest)
    }

    fn origin(&self, skill: &str) -> Origin {
        let mut origins = self.origins(skill);
        assert_eq!(origins.len(), 1, "{origins:?}");
        origins.remove(0)
    }

    fn compare(&self, skill: &str) -> Comparison {
        self.origin(skill).compare(&InstalledFiles::read(&self.path(skill)))
    }
}

fn manifest(path: &Path) -> Manifest {
    let text = fs::read_to_string(path).unwrap_or_default();
    let source = ManifestSource { bytes: text.as_bytes(), directory: None, file_name: "SKILL.md" };
    Document::parse(source, &Policy::default()).manifest
}

const SKILL: &str = "---\nname: a\ndescription: Does a. Use for a.\n---\nBody.\n";

#[test]
fn skills_lock_tells_the_source_and_if_files_were_changed() {
    let project = Project::new(&[(".agents/skills/a/SKILL.md", SKILL), (".agents/skills/a/x.txt", "x")]);
    let hash = folder_hash(&InstalledFiles::read(&project.path(".agents/skills/a"))).unwrap();
    let lock = format!(
        r#"{{"version": 1, "skills": {{
            "a": {{"source": "owner/repo", "ref": "v1", "sourceType": "github", "skillPath": "skills/a/SKILL.md",
                   "computedHash": "{hash}"}},
            "gone": {{"source": "owner/repo", "sourceType": "github", "computedHash": "{hash}"}},
            "odd": 5, "../../etc": {{"source": "x"}}}}}}"#
    );
    project.write("skills-lock.json", &lock);
    let origin = project.origin(".agents/skills/a");
    assert_eq!(origin.installer, Installer::Skills);
    assert_eq!(origin.in_words().as_deref(), Some("owner/repo (skills/a) at v1"));
    assert_eq!(project.compare(".agents/skills/a"), Comparison::Unchanged);
    project.write(".agents/skills/a/x.txt", "y");
    assert_eq!(project.compare(".agents/skills/a"), Comparison::Changed { files: Vec::new() });
    let origins = project.read();
    let missing: Vec<&str> = origins.missing().iter().map(|origin| origin.name.as_str()).collect();
    assert_eq!(missing, ["gone", "odd", "../../etc"]);
    // A skill that is not in the lock has no origin.
    project.write(".agents/skills/own/SKILL.md", SKILL);
    assert_eq!(project.origins(".agents/skills/own"), []);
}

#[test]
fn the_lock_of_a_user_holds_git_trees() {
    let project = Project::new(&[(".agents/skills/a/SKILL.md", SKILL)]);
    let tree = repertoire_sources::origin::git_tree(&InstalledFiles::read(&project.path(".agents/skills/a")));
    let lock = format!(
        r#"{{"version": 3, "skills": {{"a": {{"source": "owner/repo", "skillFolderHash": "{tree}", "updatedAt": "2026-01-01"}}}}}}"#
    );
    project.write(".agents/.skill-lock.json", &lock);
    assert_eq!(project.compare(".agents/skills/a"), Comparison::Unchanged);
    assert_eq!(project.origin(".agents/skills/a").installed_at.as_deref(), Some("2026-01-01"));
    project.write(".agents/skills/a/SKILL.md", "changed");
    assert!(matches!(project.compare(".agents/skills/a"), Comparison::Unknown(_)));
}

#[test]
fn apm_names_the_files_that_were_changed() {
    let project = Project::new(&[
        (".github/skills/a/SKILL.md", "x\r\n"),
        (".github/skills/a/b.md", "b"),
        (
            "apm.lock.yaml",
            "lockfile_version: '1'\ndependencies:\n- repo_url: github.com/o/r\n  resolved_commit: 7f3c9a0000000000\n  deployed_files:\n  \
             - .github/skills/a/SKILL.md\n  - ../out/SKILL.md\n  deployed_file_hashes:\n    \
             .github/skills/a/SKILL.md: sha256:73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac\n    \
             .github/skills/a/c.md: abc\n",
        ),
    ]);
    let origin = project.origin(".github/skills/a");
    assert_eq!(origin.in_words().as_deref(), Some("github.com/o/r at 7f3c9a000000"));
    // Line ends of another system are not a change.
    let files = ["b.md", "c.md"].map(str::to_owned).to_vec();
    assert_eq!(project.compare(".github/skills/a"), Comparison::Changed { files });
    assert_eq!(project.read().missing().len(), 0, "a path that leads out is not a skill");
}

#[test]
fn dotagents_and_openskills_and_clawhub_and_gh() {
    let frontmatter = "---\nname: g\ndescription: Does g. Use for g.\nmetadata:\n  github-repo: https://github.com/o/r\n  \
                       github-path: skills/g\n  github-ref: refs/tags/v2\n  github-tree-sha: 5801be\n---\n";
    let project = Project::new(&[
        (
            "agents.lock",
            "version = 1\n[skills.d]\nsource = \"o/d\"\nresolved_path = \"d\"\nresolved_commit = \"1234\"\n",
        ),
        (".agents/skills/d/SKILL.md", SKILL),
        (".agents/skills/o/SKILL.md", SKILL),
        (
            ".agents/skills/o/.openskills.json",
            r#"{"source": "o/o", "repoUrl": "https://github.com/o/o", "subpath": "x"}"#,
        ),
        (".agents/skills/c/SKILL.md", SKILL),
        (
            ".agents/skills/c/.clawhub/origin.json",
            r#"{"version": 1, "registry": "https://clawhub.ai", "slug": "c", "installedVersion": "1.0.0", "installedAt": 5, "fingerprint": "00"}"#,
        ),
        (".agents/skills/g/SKILL.md", frontmatter),
    ]);
    let words = |skill: &str| project.origin(&format!(".agents/skills/{skill}")).in_words().unwrap();
    assert_eq!(words("d"), "o/d (d) at 1234");
    assert_eq!(words("o"), "https://github.com/o/o (x)");
    assert_eq!(words("c"), "https://clawhub.ai/c at 1.0.0");
    assert_eq!(words("g"), "https://github.com/o/r (skills/g) at tree 5801be");
    let state = |skill: &str| project.compare(&format!(".agents/skills/{skill}")).as_str();
    assert_eq!(["d", "o", "c", "g"].map(state), ["unknown", "unknown", "changed", "unknown"]);
}

#[test]
fn the_lock_of_rep_comes_first_and_names_changed_files() {
    let lock = "version = 1\n[[skill]]\nname = \"a\"\nsource = \"https://github.com/o/r\"\nref = \"main\"\npath = \"skills/a\"\n\
                resolved = \"0123456789abcdef0123456789abcdef01234567\"\n\
                digest = \"sha256:a1780b3bbde0fae27b9379ae92dbe187b022ff8df75fa5d3eccb4e86d0519fcb\"\n[skill.files]\n\
                \"SKILL.md\" = \"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\"\n";
    let project = Project::new(&[
        ("skills-lock.json", r#"{"version": 1, "skills": {"a": {"source": "o/r"}}}"#),
        (".agents/skills/a/SKILL.md", "x"),
        (".agents/skills/a/.note", "a hidden file is not of the skill"),
        (".github/skills/a/SKILL.md", "x"),
    ]);
    // Wherever it lies, and whatever else is recorded.
    for path in ["repertoire.lock", ".agents/repertoire.lock"] {
        project.write(path, lock);
        let origins = project.origins(".agents/skills/a");
        let installers: Vec<Installer> = origins.iter().map(|origin| origin.installer).collect();
        assert_eq!(installers, [Installer::Rep, Installer::Skills]);
        assert_eq!(
            origins[0].in_words().as_deref(),
            Some("https://github.com/o/r (skills/a) at 0123456789ab")
        );
        let compare = || origins[0].compare(&InstalledFiles::read(&project.path(".agents/skills/a")));
        assert_eq!(compare(), Comparison::Unchanged);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let manifest = project.path(".agents/skills/a/SKILL.md");
            fs::set_permissions(&manifest, fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(compare(), Comparison::ModeChanged);
            fs::set_permissions(&manifest, fs::Permissions::from_mode(0o644)).unwrap();
        }
        project.write(".agents/skills/a/SKILL.md", "y");
        project.write(".agents/skills/a/b.md", "");
        let files = ["SKILL.md", "b.md"].map(str::to_owned).to_vec();
        assert_eq!(compare(), Comparison::Changed { files });
        project.write(".agents/skills/a/SKILL.md", "x");
        fs::remove_file(project.path(".agents/skills/a/b.md")).unwrap();
        fs::remove_file(project.path(path)).unwrap();
    }
    project.write("repertoire.lock", lock);
    assert_eq!(
        project.origin(".github/skills/a").installer,
        Installer::Skills,
        "only what was added is recorded"
    );
    fs::remove_dir_all(project.path(".agents/skills/a")).unwrap();
    assert_eq!(project.read().missing()[0].installer, Installer::Rep);
    project.write("repertoire.lock", &lock.replace("version = 1", "version = 2"));
    assert_eq!(project.read().faults[0].1, "version 2 is not known");
}

#[test]
fn broken_records_are_faults_and_never_stop_others() {
    let project = Project::new(&[
        ("skills-lock.json", "{"),
        ("apm.lock.yaml", "a: [\n"),
        ("agents.lock", "version = 1\n[skills.a]\nsource = \"x\"\n"),
        (".agents/skills/a/SKILL.md", SKILL),
        (".agents/skills/a/.openskills.json", "[]"),
        (".agents/skills/a/.clawhub/origin.json", "null"),
    ]);
    let origins = project.origins(".agents/skills/a");
    let installers: Vec<Installer> = origins.iter().map(|origin| origin.installer).collect();
    assert_eq!(installers, [Installer::Dotagents, Installer::OpenSkills]);
    assert_eq!(project.read().faults.len(), 2);
}

#[test]
fn truncated_records_are_read_without_a_panic() {
    let records = [
        (
            "skills-lock.json",
            r#"{"version": 1, "skills": {"a": {"source": "o/r", "skillPath": "a/SKILL.md", "computedHash": "00"}}}"#,
        ),
        (
            ".agents/.skill-lock.json",
            r#"{"version": 3, "skills": {"a": {"source": "o/r", "skillFolderHash": "00"}}}"#,
        ),
        (
            ".agents/installed_plugins.json",
            r#"{"plugins": {"p@m": [{"installPath": "/x", "version": "1"}]}}"#,
        ),
        ("agents.lock", "version = 1\n[skills.a]\nsource = \"x\"\nresolved_commit = \"1\"\n"),
        (
            "apm.lock.yaml",
            "dependencies:\n- repo_url: x\n  deployed_files: [.agents/skills/a/]\n  deployed_file_hashes: {a: b}\n",
        ),
        (".agents/skills/a/.openskills.json", r#"{"source": "x", "subpath": "y"}"#),
        (".agents/skills/a/.clawhub/origin.json", r#"{"registry": "r", "slug": "s", "fingerprint": "0"}"#),
    ];
    for (path, text) in records {
        for length in 0..=text.len() {
            let project = Project::new(&[(".agents/skills/a/SKILL.md", SKILL), (path, &text[..length])]);
            for origin in project.origins(".agents/skills/a") {
                origin.compare(&InstalledFiles::read(&project.path(".agents/skills/a")));
            }
            project.read().missing();
        }
    }
}
