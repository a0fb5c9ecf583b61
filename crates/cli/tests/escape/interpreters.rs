//! Tests that interpreter lines and links of a skill make no file readable.

use std::os::unix::fs::symlink;

use crate::world::{World, sandboxes, stderr, stdout};

#[test]
fn first_lines_and_links_of_a_skill_make_nothing_readable() {
    for sandbox in sandboxes() {
        let world = World::new();
        let root = world.path("").display().to_string();
        let root = root.trim_end_matches('/');
        symlink(world.path(""), world.path("skill/root")).unwrap();
        world.write("home/.local/lib/secret", "SECRET-LIB");
        world.write("home/.local/bin/x", "#!/bin/sh\ntrue\n");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(world.path("home/.local/bin/x"), mode).unwrap();
        symlink(world.path("home/.local/bin/x"), world.path("skill/link")).unwrap();
        world.script("decoy", &format!("#!{root}/home/.ssh\n"));
        world.script("decoy-root", "#!root/home/.ssh\n");
        let body = format!(
            "cat {root}/home/.ssh/id_ed25519 {root}/home/.local/lib/secret {root}/skill/root/home/.ssh/id_ed25519\n"
        );
        for line in [
            format!("#!/usr/bin/env -S -u {root}/skill/decoy sh"),
            format!("#!/usr/bin/env -S -u {root}/skill/decoy-root sh"),
            format!("#!/usr/bin/env -S -u {root}/skill/link sh"),
            format!("#!/bin/sh\u{a0}{root}/home/.ssh"),
            "#!root/home/.ssh".to_owned(),
            format!("#!{root}/home/.ssh"),
        ] {
            world.script("run", &format!("{line}\n{body}"));
            // That it cannot be started is as good.
            let Ok(outcome) = sandbox.run(&world.job(["./run"])) else { continue };
            assert_eq!(stdout(&outcome), "", "{} {line} {}", sandbox.name(), stderr(&outcome));
        }
        let outcome = sandbox.run(&world.job(["sh", "-c", &body])).unwrap();
        assert_eq!(stdout(&outcome), "", "{}", sandbox.name());
    }
}
