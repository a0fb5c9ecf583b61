//! The pages as browsers get them: headers, hostile content, forms.

use std::time::SystemTime;

use repertoire::event::{Event, EventKind, Outcome};
use repertoire::store::Journal as _;
use repertoire_web::http::{HttpOptions, Token};

use crate::api::Dashboard;
#[cfg(unix)]
use crate::api::link;
use crate::world::{Http, World, changed};

const HOSTILE: &str = "\"><img src=x onerror=alert(1)><script>alert(1)</script>";

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default()
}

fn field<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).expect("the field");
    rest.split_once('"').unwrap().0
}

fn submit(http: &Http, path: &str, form: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let headers = [&[("Content-Type", "application/x-www-form-urlencoded")], headers].concat();
    http.ask("POST", path, &headers, form)
}

#[test]
fn the_page_of_events_says_if_a_skill_was_switched_on_or_off() {
    let dashboard = Dashboard::new(|_| {});
    let mut event = Event::new(EventKind::SkillSwitched, "disable", "", SystemTime::now());
    event.skill = Some("alpha".to_owned());
    dashboard.store.append(&[event]).unwrap();
    let (_, page) = dashboard.http().get("/events");
    assert!(page.contains(r#"skill switched<div class="mono faint small">disable</div>"#), "{page}");
}

#[test]
fn a_browser_gets_a_page_for_an_unknown_address_and_a_program_a_line() {
    let dashboard = Dashboard::new(|_| {});
    let http = dashboard.http();
    let (status, page) = http.ask("GET", "/nosuch", &[("Accept", "text/html,*/*")], "");
    assert!(status == 404 && page.contains("<h1>There is no such page</h1>") && page.contains("lang=\"en\""));
    let (status, text) = http.get("/nosuch");
    assert!(status == 404 && body(&text).contains("MCP is at /mcp"), "{text}");
}

#[test]
fn events_say_what_was_asked_for_in_vain_and_who_asked() {
    let dashboard = Dashboard::new(|_| {});
    let mut event = Event::new(EventKind::SkillLoaded, "load_skill", "s".to_owned(), SystemTime::now());
    event.skill = Some("nosuch".to_owned());
    event.principal = Some("user:ann".to_owned());
    (event.outcome, event.error) = (Outcome::NotFound, Some("unknown_skill".to_owned()));
    dashboard.store.append(&[event]).unwrap();
    for path in ["/", "/events"] {
        let page = dashboard.http().get(path).1;
        assert!(page.contains("load skill") && page.contains("<th class=\"wide\">Who</th>"), "{page}");
        assert!(page.contains(">ann") && !page.contains("<td class=\"nowrap\">skill loaded"), "{page}");
    }
    let page = dashboard.http().get("/events").1;
    let outcome = r#"<td class="wide"><span class="badge not_found">not found</span><div class="faint small">unknown skill"#;
    assert!(page.contains(outcome), "{page}");
}

#[test]
fn problems_stand_in_the_order_of_their_gravity_with_the_worst_of_each() {
    let world = World::new();
    let mild = "---\nname: a-mild\ndescription: Helps with the many files of a project.\n---\nText.\n";
    world.write("a-mild/SKILL.md", mild);
    world.write("z-bad/SKILL.md", "---\nname: [\n---\nText.\n");
    let dashboard = Dashboard::of(world, |_| {});
    let page = dashboard.http().get("/skills?state=problems").1;
    let (bad, mild) = (page.find(">z-bad<"), page.find(">a-mild<"));
    assert!(bad.is_some() && mild.is_some() && bad < mild, "{page}");
    assert!(page.contains("the value of `name` is not valid YAML"), "{page}");
}

#[test]
fn every_page_has_the_headers_and_escapes_what_skills_say() {
    let world = World::new();
    world.write(
        "hostile/SKILL.md",
        format!("---\nname: hostile\ndescription: '{HOSTILE} does. Use when.'\ntags: ['{HOSTILE}']\nlicense: '{HOSTILE}'\n---\n# {HOSTILE}\n\n[a](javascript:alert(1)) <svg onload=alert(1)>\n"),
    );
    world.write("hostile/references/<script>alert(1)<script>.md", HOSTILE);
    world.write("hostile/assets/x.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>");
    let dashboard = Dashboard::of(world, |options| {
        options.allows_writes = true;
        options.title = HOSTILE.to_owned();
    });
    dashboard.load(HOSTILE);
    dashboard.record("hostile");
    let id = dashboard.propose("hostile", HOSTILE);
    let http = dashboard.http();
    for path in [
        "/",
        "/skills",
        "/skills?q=%22%3E%3Cscript%3E",
        "/skills/hostile",
        "/skills/hostile?view=raw",
        "/skills/hostile/explain",
        "/skills/hostile/files/assets/x.svg",
        "/skills/hostile/files/references/%3Cscript%3Ealert(1)%3Cscript%3E.md",
        "/skills/hostile/versions/1",
        "/skills/hostile/versions/1?view=split",
        "/catalog?task=%22%3E%3Cscript%3E&format=json",
        "/proposals",
        &format!("/proposals/{id}"),
        &format!("/proposals/{id}?view=split&done=%3Cscript%3E"),
        "/events",
        "/events?skill=%22%3E%3Cscript%3E",
        "/sessions",
        "/skills/%22%3E%3Cscript%3E",
    ] {
        let (status, answer) = http.get(path);
        assert!(matches!(status, 200 | 400 | 404), "{path}: {status}");
        let (head, page) = answer.split_once("\r\n\r\n").unwrap();
        let head = head.to_ascii_lowercase();
        assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:"), "{path}");
        assert!(
            head.contains("x-content-type-options: nosniff") && head.contains("referrer-policy: same-origin"),
            "{path}"
        );
        assert!(
            head.contains("content-type: text/html; charset=utf-8")
                && head.contains("cache-control: no-store"),
            "{path}"
        );
        for bad in [
            "<script>",
            "<img src=x",
            "<svg onload",
            "href=\"javascript",
            " style=\"",
            " onload=\"",
            "<svg xmlns",
        ] {
            assert!(!page.contains(bad), "{path} has {bad}");
        }
    }
}

#[test]
fn the_api_is_no_page() {
    let dashboard = Dashboard::new(|_| {});
    let (_, answer) = dashboard.http().get("/api/v1/skills");
    assert!(answer.to_ascii_lowercase().contains("content-security-policy: default-src 'none'"));
    assert!(answer.to_ascii_lowercase().contains("x-content-type-options: nosniff"));
}

#[test]
fn assets_are_revalidated() {
    let dashboard = Dashboard::new(|_| {});
    let http = dashboard.http();
    for (path, media_type) in [
        ("app.css", "text/css"),
        ("app.js", "text/javascript"),
        ("htmx.js", "text/javascript"),
        ("icon.svg", "image/svg+xml"),
    ] {
        let (status, answer) = http.get(&format!("/assets/{path}"));
        assert_eq!(status, 200);
        assert!(answer.contains(&format!("content-type: {media_type}")), "{path}");
        let tag = answer.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
        assert_eq!(http.ask("GET", &format!("/assets/{path}"), &[("If-None-Match", tag)], "").0, 304);
    }
    assert_eq!(http.get("/assets/..%2fCargo.toml").0, 404);
}

#[test]
fn forms_need_the_token_of_a_page_of_this_server() {
    let dashboard = Dashboard::new(|options| options.allows_writes = true);
    let id = dashboard.propose("alpha", "More.");
    let http = dashboard.http();
    let path = format!("/proposals/{id}");
    let page = http.get(&path).1;
    let csrf = field(body(&page), "csrf").to_owned();
    let own = format!("http://{}", http.address);
    let approve = format!("{path}/approve");
    for (form, headers) in [
        (String::new(), vec![]),
        ("csrf=".to_owned(), vec![]),
        ("csrf=wrong".to_owned(), vec![("Origin", own.as_str())]),
        (format!("csrf={csrf}"), vec![("Origin", "http://evil.test")]),
        (format!("csrf={csrf}"), vec![("Sec-Fetch-Site", "cross-site")]),
        (format!("csrf={csrf}"), vec![("Origin", "null")]),
    ] {
        let (status, _) = submit(&http, &approve, &form, &headers);
        assert!(matches!(status, 403 | 422), "{form} {headers:?}: {status}");
    }
    assert!(!std::fs::read_to_string(dashboard.world.path("alpha/SKILL.md")).unwrap().contains("More."));
    let (status, answer) = submit(
        &http,
        &approve,
        &format!("csrf={csrf}"),
        &[("Origin", &own), ("Sec-Fetch-Site", "same-origin")],
    );
    assert_eq!(status, 303, "{answer}");
    assert!(answer.contains(&format!("location: {path}?done=approved")));
    assert!(std::fs::read_to_string(dashboard.world.path("alpha/SKILL.md")).unwrap().contains("More."));
    let (status, answer) = submit(&http, &format!("{path}/reject"), &format!("csrf={csrf}&reason=late"), &[]);
    assert_eq!(status, 409);
    assert!(answer.contains("It was decided already"));
}

#[test]
fn a_page_that_is_read_only_has_no_forms_that_write() {
    let dashboard = Dashboard::new(|_| {});
    let id = dashboard.propose("alpha", "More.");
    let http = dashboard.http();
    let page = http.get(&format!("/proposals/{id}")).1;
    assert!(!page.contains("method=\"post\"") && page.contains("rep proposal approve"));
    let other = Dashboard::new(|options| options.allows_writes = true);
    other.propose("alpha", "More.");
    let csrf = field(body(&other.http().get("/proposals/1").1), "csrf").to_owned();
    assert_eq!(submit(&http, &format!("/proposals/{id}/approve"), &format!("csrf={csrf}"), &[]).0, 403);
}

#[test]
fn requests_that_fit_no_page_are_answered_with_a_page() {
    let dashboard = Dashboard::new(|options| options.allows_writes = true);
    let http = dashboard.http();
    for (method, path, expect) in [
        ("GET", "/proposals/abc", 400),
        ("GET", "/proposals/99999999999999999999", 400),
        ("GET", "/skills?limit=many", 400),
        ("GET", "/skills?cursor=x", 400),
        ("GET", "/skills/%ff", 400),
        ("GET", "/skills/alpha/versions/x", 400),
        ("GET", "/events?cursor=x", 400),
        ("POST", "/proposals/1/approve", 415),
        ("DELETE", "/skills", 405),
    ] {
        let (status, answer) = http.ask(method, path, &[], "");
        assert_eq!(status, expect, "{path}");
        let is_page = answer.contains("content-type: text/html") && answer.contains("<nav");
        assert!(is_page && answer.contains("content-security-policy"), "{path}: {answer}");
    }
}

#[test]
fn skills_are_switched_in_the_list() {
    let dashboard = Dashboard::new(|options| options.allows_writes = true);
    let http = dashboard.http();
    let page = http.get("/skills?state=active&sort=loads").1;
    let csrf = field(body(&page), "csrf").to_owned();
    assert!(page.contains("formaction=\"/skills/alpha/switch\" name=\"on\" value=\"false\""), "{page}");
    let switch = |on: &str, back: &str| {
        let form = format!("csrf={csrf}&on={on}&back={back}");
        submit(&http, "/skills/alpha/switch", &form, &[])
    };
    let (status, answer) = switch("false", "%2Fskills%3Fstate%3Dactive");
    assert_eq!(status, 303);
    assert!(answer.contains("location: /skills?state=active&switched=alpha&to=off"), "{answer}");
    let page = http.get("/skills?switched=alpha&to=off").1;
    assert!(
        page.contains("alpha is switched off for all agents.") && page.contains("value=\"true\">Switch on")
    );
    assert!(!http.get("/skills?switched=beta&to=off").1.contains("is switched off"), "it is on");
    assert!(!http.get("/skills?switched=alpha&to=on").1.contains("is switched on"), "it is off");
    assert!(http.get("/skills?switched=beta&to=on").1.contains("beta is switched on. <button form=\"undo\""));
    assert!(
        page.contains("<form id=\"undo\"") && page.contains("name=\"on\" value=\"true\"></form>"),
        "{page}"
    );
    for elsewhere in ["https%3A%2F%2Fevil.test%2Fskills", "%2F%2Fevil.test", "%2Fskills%3F%0d%0aX%3A%201"] {
        let (status, answer) = switch("true", elsewhere);
        assert_eq!(status, 303);
        assert!(answer.contains("location: /skills/alpha?done=switched%20on"), "{elsewhere}: {answer}");
    }
    let read_only = Dashboard::new(|_| {}).http().get("/skills").1;
    assert!(!read_only.contains("formaction"));
}

#[cfg(unix)]
#[test]
fn a_client_that_reads_a_skill_all_the_same_is_named() {
    let world = World::new();
    link(&world, ".cursor/skills/beta", "beta");
    let dashboard = Dashboard::of(world, |options| options.allows_writes = true);
    let http = dashboard.http();
    let csrf = field(body(&http.get("/skills").1), "csrf").to_owned();
    let form = format!("csrf={csrf}&on=false&back=%2Fskills");
    assert_eq!(submit(&http, "/skills/beta/switch", &form, &[]).0, 303);
    let page = http.get("/skills?switched=beta&to=off").1;
    let sentence = "Cursor still reads beta: it has no switch for skills.";
    assert!(page.contains(&format!("beta is switched off, but {sentence}")), "{page}");
    assert!(!page.contains("for all agents"));
    let page = http.get("/skills/beta").1;
    assert!(page.contains(sentence), "{page}");
}

#[test]
fn a_new_skill_is_not_called_unused_and_the_time_is_that_of_the_record() {
    let dashboard = Dashboard::new(|_| {});
    let page = dashboard.http().get("/").1;
    assert!(
        page.contains("Without a record of calls, this is not known.") && page.contains("<h2>Not used</h2>"),
        "{page}"
    );
    let now = std::time::SystemTime::now();
    let event = Event::new(EventKind::SkillLoaded, "load_skill", "s".to_owned(), now);
    dashboard.store.append(&[event]).unwrap();
    let page = dashboard.http().get("/").1;
    let today = &repertoire::event::jsonl::rfc3339(now)[..10];
    assert!(page.contains(&format!("Not used since recording began on {today}")), "{page}");
    assert!(page.contains("was used.</p>"), "{page}");
}

#[test]
fn a_reviewer_is_told_that_somebody_else_approves_their_proposal() {
    const TOKEN: &str = "0123456789abcdef0123456789abcdef";
    let dashboard = Dashboard::new(|_| {});
    let own = dashboard.propose_as("agent:narrow", "beta", "Mine.");
    let other = dashboard.propose("beta", "Theirs.");
    let options = changed(HttpOptions::default(), |options| {
        options.access.tokens = vec![Token::new(TOKEN, Some("narrow".to_owned()), "t").unwrap()];
    });
    let http = Http::start(&dashboard.server, options);
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("Authorization", authorization.as_str())];
    let page = |id: u64| http.ask("GET", &format!("/proposals/{id}"), &headers, "").1;
    assert!(page(other).contains("Approve and write"));
    let page = page(own);
    assert!(page.contains("somebody else has to approve it") && !page.contains("Approve and write"));
    let form = format!("csrf={}", field(body(&page), "csrf"));
    let (status, answer) = submit(&http, &format!("/proposals/{own}/approve"), &form, &headers);
    assert_eq!(status, 409);
    assert!(answer.contains("It is your own proposal"), "{answer}");
    assert!(!std::fs::read_to_string(dashboard.world.path("beta/SKILL.md")).unwrap().contains("Mine."));
}

#[test]
fn pages_of_large_libraries_stay_light() {
    let world = World::new();
    for number in 0..120 {
        let tags: Vec<String> = (0..6).map(|tag| format!("tag-{number}-{tag}")).collect();
        let text = format!(
            "---\nname: skill-{number}\ndescription: {}. Use when.\nmetadata:\n  tags: \"{}\"\n---\n# Skill\n",
            "Long ".repeat(180),
            tags.join(", ")
        );
        world.write(&format!("skill-{number}/SKILL.md"), text);
    }
    let dashboard = Dashboard::of(world, |options| options.allows_writes = true);
    let http = dashboard.http();
    let bytes = |path: &str| body(&http.get(path).1).len();
    let assets: usize = ["app.css", "app.js", "htmx.js", "icon.svg"]
        .iter()
        .map(|name| bytes(&format!("/assets/{name}")))
        .sum();
    for path in ["/", "/skills", "/skills?q=skill", "/catalog?task=skill", "/events", "/skills/skill-7"] {
        let page = bytes(path);
        assert!(page > 1_000 && page + assets < 150_000, "{path}: {page} bytes and {assets} of its assets");
    }
}
