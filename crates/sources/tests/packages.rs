//! Packages of PyPI, from a server of our own.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Cursor, Write as _};
use std::net::TcpListener;
use std::thread;

use repertoire_model::{Digest, Policy};
use repertoire_sources::{ErrorKind, FetchOptions, SourceText, fetch, find_skills};

/// Serves `files` by their paths, and returns the address. `URL` in them stands for it.
fn server(files: BTreeMap<&'static str, Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let url = address.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let found = files.get(first.split(' ').nth(1).unwrap_or_default());
            let (status, body) = match found {
                Some(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => ("200 OK", text.replace("URL", &url).into_bytes()),
                    Err(_) => ("200 OK", bytes.clone()),
                },
                None => ("404 Not Found", Vec::new()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(&[head.as_bytes(), &body].concat());
        }
    });
    address
}

fn wheel() -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, text) in [
        ("pkg/__init__.py", "x = 1\n"),
        (
            "pkg/skills/forms/SKILL.md",
            "---\nname: forms\ndescription: Fills forms. Use when a form is to be filled.\n---\n# Forms\n",
        ),
        // Bytes that are not text keep the server from replacing anything in it.
        ("pkg/skills/forms/assets/data.bin", "\u{0}"),
        (
            "pkg/.agents/skills/tables/SKILL.md",
            "---\nname: tables\ndescription: Makes tables. Use when a table is to be made.\n---\n# Tables\n",
        ),
        ("pkg-2.0.dist-info/METADATA", "Name: pkg\n"),
    ] {
        writer.start_file(name, options).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn description(digest: &str) -> Vec<u8> {
    serde_json::json!({
        "info": {"version": "2.0"},
        "urls": [
            {"packagetype": "sdist", "url": "URL/none.tar.gz", "digests": {"sha256": ""}},
            {"packagetype": "bdist_wheel", "url": "URL/pkg.whl", "digests": {"sha256": digest}},
        ],
    })
    .to_string()
    .into_bytes()
}

/// Returns the description of a mirror, which has relative addresses, and no pages of single versions.
fn mirrored(digest: &str) -> Vec<u8> {
    let files = serde_json::json!(
        [{"packagetype": "bdist_wheel", "url": "../../pkg.whl", "digests": {"sha256": digest}}]
    );
    serde_json::json!({"info": {"version": "2.0"}, "urls": files, "releases": {"1.0": files}})
        .to_string()
        .into_bytes()
}

#[test]
fn packages_of_pypi_bring_skills_along() {
    let wheel = wheel();
    let files = BTreeMap::from([
        ("/pypi/pkg/json", description(&Digest::of(&wheel).to_hex())),
        ("/pypi/bad/json", description(&Digest::of(b"other").to_hex())),
        ("/pypi/mirrored/json", mirrored(&Digest::of(&wheel).to_hex())),
        ("/pkg.whl", wheel),
    ]);
    let scratch = tempfile::tempdir().unwrap();
    let mut options = FetchOptions::new(scratch.path());
    options.pypi = server(files);
    let fetched = |text: &str| {
        let source = SourceText::parse(text, scratch.path(), None).unwrap().source;
        fetch(&source, &options)
    };
    let tree = fetched("pypi:pkg").unwrap();
    assert_eq!(tree.resolved.as_deref(), Some("2.0"));
    let found = find_skills(&tree, &Policy::default());
    let found: Vec<_> = found.iter().map(|skill| (skill.name.as_str(), skill.path.as_str())).collect();
    assert_eq!(found, [("forms", "pkg/skills/forms"), ("tables", "pkg/.agents/skills/tables")]);
    assert_eq!(fetched("pypi:mirrored").unwrap().resolved.as_deref(), Some("2.0"));
    assert_eq!(fetched("pypi:mirrored==1.0").unwrap().resolved.as_deref(), Some("1.0"));
    assert_eq!(fetched("pypi:mirrored==9").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(fetched("pypi:bad").unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!(fetched("pypi:pkg==9").unwrap_err().kind(), ErrorKind::NotFound);
    // What was unpacked is gone with it.
    drop(tree);
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}
