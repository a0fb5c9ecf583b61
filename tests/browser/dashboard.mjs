// The pages of the dashboard in a browser: node dashboard.mjs REP CHROMIUM SKILLS OUTPUT

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { HOSTILE, World } from "./world.mjs";

const [rep, executablePath, skills, output] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const world = new World(rep, skills);
const LONG = 20_000;
// The longest that one case takes, on a busy machine too.
const CASE = 240_000;

world.skill("hostile", `Does harm ${HOSTILE} to pages. Use when a page is tested.`,
  `# Hostile ${HOSTILE}\n\n[run](javascript:window.hacked=1) ![x](https://evil.test/x.png) <svg onload=window.hacked=1>\n\n<div hx-get="/x" hx-trigger="load">x</div>\n`);
world.write("hostile/references/<img src=x onerror=hacked=1>.md", HOSTILE);
world.write("hostile/assets/picture.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=1"><script>window.hacked=1</script></svg>`);
world.skill("a-name-that-is-as-long-as-names-may-be-and-goes-on-to-sixty-four", "يصف هذا النص مهارة ويشرح متى تُستعمل، مع كلمات English. Use when text is right to left.", "# مرحبا\n\nنص من اليمين إلى اليسار.\n");
world.skill("han", "日本語の説明文です。句読点の少ない長い文字列でも折り返されることを確認します。使用するとき。", `# 見出し\n\n${"長い本文".repeat(60)}\n\n| 表 | ${"x".repeat(200)} |\n|---|---|\n| a | b |\n`);
world.write("broken/SKILL.md", "---\nname: broken\n---\n");
for (const name of ["git", "git", "git", "qa", "docs", "backend", "backend", "security", "code-review"]) world.load(name);
world.run("call", "search_skills", JSON.stringify({ query: HOSTILE }));
const approved = world.propose("git", "Never force-push a shared branch.", "Two agents overwrote each other on Monday.");
const rejected = world.propose("docs", "Check every link.", `Links were dead ${HOSTILE}`);
const stale = world.propose("qa", "Run the tests twice.", "One run is not enough.");

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const faults = [];

// Waits for `promise`, and fails after `time`: not every wait of the browser has an end of its own.
async function timely(promise, time) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`it takes more than ${time / 1000} s`)), time); });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// Returns the cookie that opening `address` sets. No page is loaded for it.
async function cookieOf(address) {
  const { status, headers } = await fetch(address, { redirect: "manual" });
  assert.equal(status, 303, address);
  const [name, value] = headers.get("set-cookie").split(";")[0].split("=");
  return { name, value, url: new URL(address).origin, httpOnly: true, sameSite: "Strict" };
}

// A page that notes everything that goes wrong in it, in a browser that has opened the dashboard of `address`, if it is one.
async function open(address, options = {}) {
  const base = new URL(address).origin;
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  if (address.includes("/open/")) await context.addCookies([await cookieOf(address)]);
  const page = await context.newPage();
  page.base = base;
  page.on("console", (message) => { if (["error", "warning"].includes(message.type()) && !message.text().includes("status of 4")) faults.push(`${page.url()}: ${message.text()}`); });
  page.on("pageerror", (error) => faults.push(`${page.url()}: ${error}`));
  page.on("request", (request) => { if (!request.url().startsWith(base)) faults.push(`${page.url()} asks for ${request.url()}`); });
  page.setDefaultTimeout(LONG);
  return page;
}

async function visit(page, path, status = 200) {
  const response = await page.goto(page.base + path);
  assert.equal(response.status(), status, path);
  const headers = response.headers();
  assert.match(headers["content-security-policy"], /default-src 'none'; script-src 'self'; style-src 'self'/);
  assert.equal(headers["x-content-type-options"], "nosniff");
  assert.equal(headers["referrer-policy"], "same-origin");
}

async function accessible(page) {
  const context = await page.context().newCDPSession(page);
  // The policy of the page keeps scripts out; the debugger is not bound to it.
  await context.send("Runtime.evaluate", { expression: axe });
  const found = await timely(page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] })), 3 * LONG);
  const serious = found.violations.filter((violation) => ["serious", "critical"].includes(violation.impact));
  assert.deepEqual(serious.map((violation) => `${violation.id}: ${violation.nodes[0].html}`), [], page.url());
}

async function harmless(page) {
  assert.equal(await page.evaluate(() => window.hacked), undefined, page.url());
  assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main script, main iframe, [onload], [onerror]").length), 0, page.url());
  const links = await page.evaluate(() => [...document.links].map((link) => link.protocol));
  assert.deepEqual(links.filter((protocol) => !/^https?:$/.test(protocol)), [], page.url());
}

const PAGES = {
  overview: "/", skills: "/skills", search: "/skills?q=review+a+change", skill: "/skills/git", raw: "/skills/git?view=raw", file: "/skills/git/files/SKILL.md",
  "right-to-left": "/skills/a-name-that-is-as-long-as-names-may-be-and-goes-on-to-sixty-four", han: "/skills/han", tools: "/skills/csv-report",
  explain: "/skills/git/explain", version: "/skills/git/versions/1", broken: "/skills?state=quarantined", hostile: "/skills/hostile",
  catalog: "/catalog?budget=600&task=fix+the+failing+pipeline", proposals: "/proposals", proposal: `/proposals/${approved}`, split: `/proposals/${approved}?view=split`,
  "hostile-proposal": `/proposals/${rejected}`, events: "/events", filtered: "/events?kind=skills_searched", sessions: "/sessions",
};

const cases = {
  async "pages weigh less than 150 KB"() {
    for (const path of Object.values(PAGES)) {
      const page = await open(base);
      const responses = [];
      const note = (response) => { if (!response.url().endsWith("/changes")) responses.push(response); };
      page.on("response", note);
      await page.goto(page.base + path);
      page.off("response", note);
      const bodies = await Promise.all(responses.filter((response) => response.ok()).map((response) => response.body()));
      await page.context().close();
      const bytes = bodies.reduce((sum, body) => sum + body.length, 0);
      assert.ok(bytes > 10_000 && bytes < 150_000, `${path}: ${bytes} bytes`);
    }
  },

  async "every page is sound, accessible and harmless"() {
    const page = await open(base);
    for (const [name, path] of Object.entries(PAGES)) {
      await visit(page, path);
      await harmless(page);
      await accessible(page);
      await page.screenshot({ path: join(output, `${name}.png`), fullPage: true });
    }
    for (const [path, status] of [["/nosuch", 404], ["/skills/nothing", 404], ["/proposals/none", 400]]) {
      await visit(page, path, status);
      await accessible(page);
    }
    await page.screenshot({ path: join(output, "error.png"), fullPage: true });
  },

  async "files of a skill never run"() {
    const page = await open(base);
    await visit(page, "/skills/hostile");
    for (const path of await page.$$eval('a[href*="/files/"]', (links) => links.map((link) => link.getAttribute("href")))) {
      await visit(page, path);
      await harmless(page);
    }
  },

  async "pages fit a phone and are dark at night"() {
    const page = await open(base, { viewport: { width: 360, height: 740 }, colorScheme: "dark", isMobile: true });
    for (const [name, path] of Object.entries(PAGES)) {
      await visit(page, path);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(overflow <= 0, `${path} is ${overflow} pixels too wide`);
      await accessible(page);
      await page.screenshot({ path: join(output, `${name}-phone.png`), fullPage: true });
    }
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(background, "rgb(17, 18, 20)");
  },

  async "pages are dark on a large screen too"() {
    const page = await open(base, { colorScheme: "dark" });
    for (const name of ["overview", "skill", "proposal"]) {
      await visit(page, PAGES[name]);
      await accessible(page);
      await page.screenshot({ path: join(output, `${name}-dark.png`), fullPage: true });
    }
  },

  async "search finds while somebody types"() {
    const page = await open(base);
    await visit(page, "/skills");
    await page.keyboard.press("/");
    await page.keyboard.type("resolve merge conflicts", { delay: 10 });
    await page.waitForFunction(() => document.querySelector("#results tbody tr .name")?.textContent === "resolver");
    await page.waitForURL(/q=resolve/);
    assert.equal(await page.inputValue("input[type=search]"), "resolve merge conflicts");
    await page.selectOption("select[name=tag]", "git");
    await page.waitForFunction(() => !document.querySelector("#results")?.textContent.includes("code-review"));
  },

  async "the keyboard reaches everything"() {
    const page = await open(base);
    await visit(page, "/events");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
    assert.ok(await page.evaluate(() => document.activeElement.getBoundingClientRect().left >= 0), "the link is seen once it has the focus");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement.closest("main") !== null));
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outline, "none");
    await visit(page, "/sessions");
    await page.keyboard.press("/");
    await page.waitForURL(/skills$/);
  },

  async "an update keeps what a reader wrote, opened and focused"() {
    const page = await open(base);
    await visit(page, `/proposals/${rejected}`);
    await page.waitForSelector("#live:not([hidden])");
    await page.fill("textarea[name=reason]", "We have a checker");
    await page.click("h1");
    const gone = world.propose("security", "Look at the logs.", "Nobody does.");
    await page.waitForFunction((count) => document.querySelector("#pending")?.textContent.trim().startsWith(String(count)), 4);
    assert.equal(await page.inputValue("textarea[name=reason]"), "We have a checker");
    world.run("proposal", "reject", String(gone), "--why", "no");
    await visit(page, "/skills/git");
    await page.waitForSelector("#live:not([hidden])");
    await page.click("summary:has-text('markdown')");
    await page.focus("#skill a:has-text('Events')");
    const loads = await page.textContent("#skill .stat .value");
    world.load("git");
    await page.waitForFunction((before) => document.querySelector("#skill .stat .value").textContent !== before, loads);
    assert.ok(await page.evaluate(() => [...document.querySelectorAll("details")].find((details) => details.textContent.startsWith("markdown")).open));
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Events");
  },

  async "pages work without JavaScript"() {
    const page = await open(base, { javaScriptEnabled: false });
    await visit(page, "/skills");
    await page.fill("input[type=search]", "merge conflicts");
    await page.press("input[type=search]", "Enter");
    await page.waitForURL(/q=merge/);
    assert.equal(await page.textContent("#results tbody tr .name"), "resolver");
    await visit(page, `/proposals/${approved}`);
    assert.ok(await page.isVisible("text=Approve and write"));
  },

  async "events show up by themselves"() {
    const page = await open(base);
    await visit(page, "/events?skill=architect");
    await page.waitForSelector("#live:not([hidden])");
    assert.equal(await page.locator("#events tbody tr").count(), 0);
    world.load("architect");
    await page.waitForSelector("#events tbody tr");
  },

  async "a skill that is edited changes on the page"() {
    const page = await open(base);
    await visit(page, "/skills/hostile");
    await page.waitForSelector("#live:not([hidden])");
    world.skill("hostile", "Is tamed. Use when a page is tested.", "# Tamed\n\nNow it is tame.\n");
    await page.waitForSelector("text=Now it is tame.");
  },

  async "an approval writes the file, and other pages follow"() {
    const [page, other] = [await open(base), await open(base)];
    await visit(other, "/proposals");
    await other.waitForSelector("#live:not([hidden])");
    await visit(page, `/proposals/${approved}`);
    await page.click("text=Approve and write");
    await page.waitForSelector("text=Approved. The files are written");
    assert.match(world.read("git/SKILL.md"), /Never force-push a shared branch\./);
    await other.waitForFunction((id) => !document.querySelector(`#proposals a[href="/proposals/${id}"]`), approved);
    await page.screenshot({ path: join(output, "approved.png"), fullPage: true });
  },

  async "two reviewers decide about one proposal, and the second is told"() {
    const [one, two] = [await open(base), await open(base)];
    await visit(one, `/proposals/${rejected}`);
    await two.context().route("**/api/v1/changes", (route) => route.abort());
    faults.length = 0;
    await visit(two, `/proposals/${rejected}`);
    await one.fill("textarea[name=reason]", "We have a link checker.");
    await one.click("button.danger");
    await one.waitForSelector("text=We have a link checker.");
    await two.click("text=Approve and write");
    await two.waitForSelector("text=It was decided already");
    assert.doesNotMatch(world.read("docs/SKILL.md"), /Check every link\./);
    faults.length = 0;
  },

  async "a proposal becomes stale on the page, and is rebased"() {
    const page = await open(base);
    await visit(page, `/proposals/${stale}`);
    await page.waitForSelector("#live:not([hidden])");
    world.write("qa/SKILL.md", world.read("qa/SKILL.md") + "\nA line of somebody else.\n");
    await page.waitForSelector("button:has-text('Rebase')");
    await page.screenshot({ path: join(output, "stale.png"), fullPage: true });
    await page.click("button:has-text('Rebase')");
    await page.waitForSelector("text=repeats the change on the skill as it is now");
    await page.click("text=Approve and write");
    await page.waitForSelector("text=Approved. The files are written");
    assert.match(world.read("qa/SKILL.md"), /Run the tests twice\.[\s\S]*A line of somebody else\./);
  },

  async "a version is restored"() {
    const page = await open(base);
    await visit(page, "/skills/git");
    await page.click("li:has-text('Version 1') button");
    await page.waitForSelector("text=version 1 is restored");
    assert.doesNotMatch(world.read("git/SKILL.md"), /Never force-push/);
  },

  async "the title stays while a part of another page is renewed"() {
    const page = await open(base);
    await visit(page, "/catalog");
    await page.waitForSelector("#live:not([hidden])");
    const title = await page.title();
    await page.evaluate(() => new Promise((swapped) => {
      document.addEventListener("htmx:after:swap", () => swapped(), { once: true });
      htmx.trigger("#pending", "live");
    }));
    assert.equal(await page.title(), title);
    assert.match(title, /^Catalog/);
  },

  async "a skill is switched off and on"() {
    const page = await open(base);
    await visit(page, "/skills/docs");
    await page.click("button:has-text('Switch off')");
    await page.waitForSelector("text=Done: switched off.");
    assert.doesNotMatch(world.run("list"), /^docs/m);
    await page.click("button:has-text('Switch on')");
    await page.waitForSelector("text=Done: switched on.");
    assert.match(world.run("list"), /^docs/m);
    await visit(page, "/skills?tag=git");
    await page.click("tr:has(a[href='/skills/git']) button");
    await page.waitForSelector("text=git is switched off for all agents.");
    assert.match(page.url(), /tag=git/);
    assert.doesNotMatch(world.run("list"), /^git /m);
    await page.click(".notice button:has-text('Undo')");
    await page.waitForSelector("text=git is switched on.");
    assert.match(page.url(), /tag=git/);
  },

  async "a dashboard is opened with its address, and stays open"() {
    const context = await browser.newContext();
    const page = await context.newPage();
    const origin = new URL(base).origin;
    for (const path of ["/", "/skills/git"]) {
      assert.equal((await page.goto(origin + path)).status(), 403, path);
      assert.match(await page.textContent("h1"), /Run rep dashboard again/);
    }
    await accessible(page);
    await page.screenshot({ path: join(output, "not-opened.png"), fullPage: true });
    await page.goto(base);
    assert.equal(page.url(), `${origin}/`);
    assert.equal(await page.evaluate(() => document.cookie), "");
    await page.waitForSelector("#live:not([hidden])");
    await page.click("nav a:has-text('Skills')");
    await page.waitForURL("**/skills");
    assert.equal((await page.reload()).status(), 200);
    const bookmark = await context.newPage();
    assert.equal((await bookmark.goto(`${origin}/skills/git`)).status(), 200);
    // A page that is open when the cookie is gone tells what to do.
    await page.goto(`${origin}/events`);
    await page.waitForSelector("#live:not([hidden])");
    await context.clearCookies();
    world.load("git");
    await page.waitForSelector("h1:has-text('Run rep dashboard again')");
  },

  async "a dashboard without --allow-write decides nothing"() {
    const page = await open(await world.start());
    await visit(page, "/proposals?state=all");
    await visit(page, `/proposals/${stale}`);
    assert.equal(await page.locator("form[method=post]").count(), 0);
    const status = await page.evaluate(async (id) => (await fetch(`/api/v1/proposals/${id}/reject`, { method: "POST", headers: { "content-type": "application/json" }, body: '{"reason":"x"}' })).status, stale);
    assert.equal(status, 403);
  },

  async "a person signs in with a token, decides, and signs out"() {
    const [reviewer, reader] = ["reviewer", "reader"].map((role) => JSON.parse(world.run("team", "token", "create", "--name", `${role}@example.com`, "--role", role, "--json")).token);
    const proposed = world.propose("backend", "Log every request.", "Nobody knew what went wrong.");
    const page = await open(await world.serve());
    const signIn = async (token) => {
      await page.fill("input[name=token]", token);
      await page.click("button:has-text('Sign in')");
    };
    await visit(page, `/proposals/${proposed}?view=split`);
    assert.equal(new URL(page.url()).pathname, "/sign-in");
    await accessible(page);
    await page.screenshot({ path: join(output, "sign-in.png"), fullPage: true });
    await signIn("rep_wrong");
    await page.waitForSelector("text=This token is not valid");
    await accessible(page);
    await signIn(reviewer);
    await page.waitForURL(`**/proposals/${proposed}?view=split`);
    await page.waitForSelector("text=reviewer@example.com");
    await page.waitForSelector("#live:not([hidden])");
    assert.equal(await page.evaluate(() => document.cookie), "");
    await accessible(page);
    await page.screenshot({ path: join(output, "signed-in.png"), fullPage: true });
    await page.click("text=Approve and write");
    await page.waitForSelector("text=Approved. The files are written");
    assert.match(world.read("backend/SKILL.md"), /Log every request\./);
    assert.match(world.run("events", "--skill", "backend", "--json"), /"principal":"reviewer@example\.com"/);
    await page.click("button:has-text('Sign out')");
    await page.waitForURL("**/sign-in");
    await visit(page, "/skills");
    assert.equal(new URL(page.url()).pathname, "/sign-in");
    await page.setViewportSize({ width: 360, height: 740 });
    await signIn(reader);
    await page.waitForURL("**/skills");
    assert.ok(await page.isVisible("button:has-text('Sign out')"));
    await visit(page, `/proposals/${stale}`);
    assert.equal(await page.locator("form[method=post]:not(.person)").count(), 0);
    // A page of another site leads here, and cannot do more.
    const elsewhere = await page.context().newPage();
    await elsewhere.goto(`data:text/html,<a href="${page.base}/skills">skills</a><form method="post" action="${page.base}/sign-out"><input name="csrf" value="x"><button>Out</button></form>`);
    await elsewhere.click("button");
    await elsewhere.waitForURL("**/sign-out");
    assert.equal(await elsewhere.evaluate(() => document.body.innerText.includes("not allowed")), true);
    await elsewhere.goBack();
    await elsewhere.click("a");
    await elsewhere.waitForSelector("text=reader@example.com");
  },

  // Nothing in it is made for a test: it is docs/images/dashboard.png.
  async "the first page is as the README shows it"() {
    const sample = new World(rep, skills);
    try {
      for (const name of ["git", "git", "git", "code-review", "code-review", "csv-report", "docs", "backend"]) sample.load(name);
      sample.run("call", "search_skills", JSON.stringify({ query: "fix the failing pipeline" }));
      const page = await open(await sample.start(), { viewport: { width: 1200, height: 720 } });
      await visit(page, "/");
      await page.screenshot({ path: join(output, "readme.png") });
      // A page that outlives its server reports that it cannot be reached.
      await page.close();
    } finally {
      await sample.end();
    }
  },

  async "an empty library says what to do next"() {
    const empty = new World(rep);
    try {
      const page = await open(await empty.start());
      for (const path of ["/", "/skills", "/proposals", "/events", "/sessions", "/catalog"]) {
        await visit(page, path);
        await accessible(page);
        await page.screenshot({ path: join(output, `empty${path.replace("/", "-")}.png`), fullPage: true });
      }
      await page.close();
    } finally {
      await empty.end();
    }
  },
};

const base = await world.start("--allow-write");
let failed = 0;
for (const [name, run] of Object.entries(cases)) {
  faults.length = 0;
  try {
    await timely(run(), CASE);
    assert.deepEqual(faults, []);
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}\n${error.stack}`);
  }
  for (const context of browser.contexts()) await context.close();
}
await browser.close();
await world.end();
process.exit(failed ? 1 : 0);
