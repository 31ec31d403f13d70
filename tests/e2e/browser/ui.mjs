// Clicks through the page of --ui in Chromium. ui.mjs CHAPTER runs one chapter; ui.py calls it.
//
// CARDEA_BASE is the server, CARDEA_ADMIN, CARDEA_JANE and CARDEA_MARKUP are tokens, CARDEA_IMAGES is where pictures go, if anywhere.
// CARDEA_PAGE is a folder with files that replace those of the server.
import {chromium} from "playwright-core";
import {existsSync, readFileSync} from "node:fs";
import {createRequire} from "node:module";

const {CARDEA_BASE: base, CARDEA_ADMIN: admin, CARDEA_JANE: jane, CARDEA_MARKUP: marked, CARDEA_PAGE: pageFolder, CARDEA_IMAGES: images, CARDEA_CHROMIUM: executablePath} = process.env;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const PATIENCE = 60_000;
const STORIES = ["me", "may", "who", "grants", "expressions", "change", "happened"];

function expect(condition, message) {
  if (!condition) throw new Error(message);
}

const browser = await chromium.launch({executablePath, args: ARGUMENTS});

// A page at the sign-in form. What it must not do is noted in `faults`.
async function visit({width = 1280, height = 800, colorScheme = "light", refusals = false, also = []} = {}) {
  const context = await browser.newContext({ignoreHTTPSErrors: true, viewport: {width, height}, colorScheme, reducedMotion: "reduce"});
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage(), faults = [];
  page.on("console", (m) => {
    // Browsers call every answer from 400 on an error of the console; chapters about refusals expect them.
    const isRefusal = refusals && m.text().startsWith("Failed to load resource");
    if (["error", "warning"].includes(m.type()) && !isRefusal) faults.push(`console: ${m.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { faults.push(`a dialog of the browser: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (![base, ...also].some((place) => request.url().startsWith(`${place}/`))) faults.push(`a request to ${request.url()}`); });
  if (pageFolder) await page.route(`${base}/ui/**`, serveFromFolder);
  await page.goto(`${base}/ui/`);
  return {page, context, faults, async end() {
    expect(!faults.length, faults.join("\n"));
    expect((await context.cookies()).length === 0, "there is a cookie");
    expect(await page.evaluate(() => localStorage.length + sessionStorage.length) === 0, "something is stored in the browser");
    expect(await page.evaluate(() => window.struck === undefined), "a name became a script");
    await context.close();
  }};
}

const TYPES = {html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml"};

async function serveFromFolder(route) {
  const name = new URL(route.request().url()).pathname.slice("/ui/".length) || "index.html", path = `${pageFolder}/${name}`;
  const page = await route.fetch({url: `${base}/ui/`});  // for the headers
  if (!existsSync(path)) return route.continue();
  await route.fulfill({status: 200, headers: {...page.headers(), "content-type": TYPES[name.split(".").pop()]}, body: readFileSync(path)});
}

async function signIn(token, options) {
  const visitor = await visit(options);
  await visitor.page.getByLabel("Token").fill(token);
  await visitor.page.getByRole("button", {name: "Sign in"}).click();
  await visitor.page.getByRole("navigation", {name: "Stories"}).waitFor();
  return visitor;
}

const go = (page, hash) => page.evaluate((to) => { location.hash = to; }, `#/${hash}`);
const text = (page, words) => page.getByText(words, {exact: false}).first().waitFor();
const cell = (page, row, verb) => page.locator("table.matrix tbody tr").filter({has: page.getByRole("button", {name: row, exact: true})}).locator("td").nth(
  ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"].indexOf(verb));

// Leaves the field first, so that its suggestions go.
async function ask(page) {
  await page.keyboard.press("Tab");
  await page.getByRole("button", {name: "Ask"}).click();
}

async function picture(page, name) {
  if (images) await page.screenshot({path: `${images}/${name}.png`});
}

const chapters = {
  async signing_in() {
    const {page, end} = await visit({refusals: true});
    await page.getByRole("button", {name: "Sign in"}).click();
    await text(page, "A token is missing");
    await page.getByLabel("Token").fill("wrong");
    await page.keyboard.press("Enter");
    await text(page, "The credentials are not accepted");
    await page.getByRole("button", {name: "Use my client certificate"}).click();
    await text(page, "No client certificate");
    await page.getByLabel("Token").fill(jane);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", {name: "Me", exact: true}).waitFor();
    await page.getByRole("button", {name: "Sign out"}).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.getByLabel("Token").inputValue() === "", "the token is still in the field");
    await page.getByLabel("Token").fill(jane);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", {name: "Me", exact: true}).waitFor();
    await page.reload();
    await page.getByLabel("Token").waitFor();
    await end();
  },

  async me() {
    const {page, end} = await signIn(jane);
    await text(page, "system:authenticated");
    await cell(page, "pods", "get").getByRole("button", {name: "yes"}).waitFor();
    await cell(page, "secrets", "get").getByText("no", {exact: true}).waitFor();
    await cell(page, "persistentvolumes", "create").getByRole("button").click();
    await text(page, "object.spec.storageClassName");
    await page.getByRole("button", {name: "Close"}).click();
    await page.getByRole("button", {name: "pods", exact: true}).click();
    await text(page, "granular:metadata");
    await text(page, "get pods/log");
    await page.getByLabel("Filter").fill("deploy");
    await page.getByRole("button", {name: "deployments", exact: true}).waitFor();
    await page.getByRole("button", {name: "pods", exact: true}).waitFor({state: "detached"});
    await page.getByLabel("Filter").fill("");
    await page.getByRole("combobox", {name: "Namespace"}).fill("shop");
    await page.keyboard.press("Enter");
    await cell(page, "pods", "delete").getByRole("button", {name: "yes"}).waitFor();
    await page.getByLabel("only what I may do").check();
    await picture(page, "ui-me");
    await end();
  },

  async may() {
    const {page, end} = await signIn(admin);
    await go(page, "may");
    await ask(page);
    await text(page, "Enter a user or a group");
    await page.getByLabel("User").fill("jane");
    await page.getByLabel("Groups").fill("dev");
    await page.getByRole("combobox", {name: "Resource"}).fill("pods");
    await page.getByRole("combobox", {name: "Verb"}).fill("delete");
    await page.getByRole("combobox", {name: "Namespace"}).fill("shop");
    await ask(page);
    await page.locator(".verdict.yes").waitFor();
    await page.locator(".graph text", {hasText: "cleaners"}).first().waitFor();
    expect(await page.locator(".chain > li.yes").count() === 1, "one authorizer allows");
    await picture(page, "ui-may");
    await page.getByRole("combobox", {name: "Verb"}).fill("update");
    await ask(page);
    await page.locator(".verdict.no").waitFor();
    await text(page, "Near misses");
    // Under conditions, and settled with an object.
    await page.getByRole("combobox", {name: "Verb"}).fill("create");
    await page.getByRole("combobox", {name: "Resource"}).fill("persistentvolumes");
    await page.getByRole("combobox", {name: "Namespace"}).fill("");
    await ask(page);
    await page.locator(".verdict.if").waitFor();
    await page.getByText("The object", {exact: true}).click();
    await page.getByLabel("Object, in YAML or JSON").fill("---\nspec:\n  storageClassName: dev\n  capacity: {storage: 1Gi}\n");
    await ask(page);
    await page.locator(".verdict.yes").waitFor();
    await page.locator(".part.true").first().waitFor();
    await picture(page, "ui-condition");
    await page.getByLabel("Object, in YAML or JSON").fill("spec: {storageClassName: prod}");
    await ask(page);
    await page.locator(".verdict.no").waitFor();
    await page.locator(".part.false").first().waitFor();
    await page.getByText("Impersonation", {exact: true}).click();
    await page.getByLabel("Impersonating").fill("bob");
    await ask(page);
    await text(page, "May jane impersonate bob?");
    await end();
  },

  async who() {
    const {page, end} = await signIn(admin);
    await go(page, "who?verb=delete&target=pods&namespace=shop&ask=1");
    await page.getByRole("option", {name: "system:masters"}).waitFor();
    const denial = page.locator(".condition.deny", {hasText: "keep-protected"});
    await denial.getByText("Group night-shift").waitFor();
    await denial.locator("pre, code").filter({hasText: "oldObject"}).first().waitFor();
    await picture(page, "ui-who");
    await page.getByLabel("Filter the subjects").fill("jane");
    await page.getByText("1 of", {exact: false}).waitFor();
    await page.getByRole("option", {name: "jane"}).click();
    await page.getByRole("dialog").getByText("cleaner", {exact: false}).first().waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("combobox", {name: "Verb"}).fill("create");
    await page.getByRole("combobox", {name: "Resource"}).fill("persistentvolumes");
    await page.getByLabel("Filter the subjects").fill("");
    await ask(page);
    await page.getByRole("option", {name: "jane"}).getByText("yes, if").waitFor();
    await end();
  },

  async grants() {
    const {page, end} = await signIn(admin);
    await go(page, "grants?kind=Role&name=cleaner&namespace=shop");
    await page.locator(".graph text", {hasText: "shop/cleaners"}).first().waitFor();
    await page.getByText("shadowed: rule 1 gives all of it", {exact: true}).waitFor();
    await page.getByText("unused: this server does not serve these resources", {exact: true}).waitFor();
    await picture(page, "ui-grants");
    await page.getByText("Cluster policies", {exact: true}).click();
    await page.getByRole("option", {name: "dev-volumes"}).click();
    await text(page, "Only if");
    await page.getByText("Cluster roles", {exact: true}).click();
    await page.getByRole("option", {name: "lonely"}).click();
    await text(page, "Nobody has it");
    await page.getByText("Cluster bindings", {exact: true}).click();
    await page.getByRole("option", {name: "dangling"}).click();
    await page.locator(".graph text", {hasText: "does not exist"}).waitFor();
    // Roles of namespace policy, which may deny.
    await page.getByText("Document roles", {exact: true}).click();
    await page.getByRole("option", {name: "shop/careful"}).click();
    for (const words of ["edgar", "editors", "shop/careful", "denies"]) await page.locator(".graph text", {hasText: words}).first().waitFor();
    await page.getByText("Document bindings", {exact: true}).click();
    await page.getByRole("option", {name: "shop/careful"}).click();
    await page.locator(".graph text", {hasText: "get, delete"}).first().waitFor();
    await end();
  },

  async expressions() {
    const {page, end} = await signIn(admin);
    await go(page, "expressions");
    await page.getByRole("button", {name: "Evaluate"}).click();
    await page.getByRole("heading", {name: "true", exact: true}).waitFor();
    await text(page, "of 1,000,000");
    await page.getByLabel("Unknown parts").fill("object");
    await page.getByRole("button", {name: "Evaluate"}).click();
    await page.getByRole("heading", {name: "What is left"}).waitFor();
    await picture(page, "ui-expressions");
    await page.getByRole("combobox", {name: "Fields of"}).fill("persistentvolumes");
    await page.waitForResponse((r) => r.url().includes("/openapi/v3/"));
    await page.getByLabel("Expression").fill("");
    await page.getByLabel("Expression").pressSequentially("object.spec.storageCl");
    await page.getByRole("option", {name: "storageClassName"}).waitFor();
    await page.keyboard.press("Enter");
    expect(await page.getByLabel("Expression").inputValue() === "object.spec.storageClassName", "the field was not completed");
    await page.getByLabel("Expression").fill("object.spec.storageClasName == 'x'");
    await page.keyboard.press("Control+Enter");
    await text(page, "It does not fit the fields");
    await page.getByLabel("Expression").fill("object.spec +");
    await page.keyboard.press("Control+Enter");
    await text(page, "It does not compile");
    await end();
  },

  async change() {
    const {page, end} = await signIn(admin);
    await go(page, "change");
    await page.getByRole("combobox", {name: "Kind"}).selectOption("Role");
    await page.getByRole("combobox", {name: "Namespace"}).fill("shop");
    await page.getByRole("textbox", {name: "Name", exact: true}).fill("cleaner");
    await page.getByRole("button", {name: "Load"}).click();
    await page.waitForFunction(() => document.querySelector("#main textarea").value.includes("rules:"));
    const yaml = await page.locator("#main textarea").inputValue();
    await page.locator("#main textarea").fill(yaml.replace("- delete", "- update"));
    await page.getByRole("button", {name: "What would change?"}).click();
    await page.getByRole("heading", {name: /Gains/}).waitFor();
    await text(page, "update pods");
    await text(page, "delete pods");
    await picture(page, "ui-change");
    await page.getByRole("button", {name: "Apply"}).click();
    await text(page, "Applied");
    await page.locator("#main textarea").fill(yaml.replace(/resourceVersion: .*/, ""));
    await page.getByRole("button", {name: "What would change?"}).click();
    await page.getByRole("button", {name: "Apply"}).click();
    await text(page, "Applied");
    await page.locator("#main textarea").fill("rules: [");
    await page.getByRole("button", {name: "What would change?"}).click();
    await page.getByRole("alert").waitFor();
    await end().catch((error) => { if (!/status of 4\d\d/.test(error.message)) throw error; });
  },

  // Roles and bindings of policy documents: what a rule, a denial and a binding would change.
  async change_of_policy_documents() {
    const {page, end} = await signIn(admin);
    await go(page, "change");
    const edit = async (kind, namespace, name, make) => {
      await page.getByRole("combobox", {name: "Kind"}).selectOption(kind);
      await page.getByRole("combobox", {name: "Namespace"}).fill(namespace);
      await page.getByRole("textbox", {name: "Name", exact: true}).fill(name);
      await page.locator("#main textarea").fill("");
      await page.getByRole("button", {name: "Load"}).click();
      await page.waitForFunction(() => document.querySelector("#main textarea").value.includes("kind:") || document.querySelector("#main").innerText.includes("It does not exist"));
      await page.locator("#main textarea").fill(make(await page.locator("#main textarea").inputValue()));
      await page.getByRole("button", {name: "What would change?"}).click();
      await page.getByRole("heading", {name: /Losses/}).waitFor();
    };
    const listed = (title) => page.locator("section", {has: page.getByRole("heading", {name: new RegExp(title)})});
    // A rule more: the users and groups of its binding gain it.
    await edit("Document Role", "shop", "careful", (yaml) => `${yaml}- verbs: [update]\n  resourceKinds: [configmaps]\n`);
    for (const who of ["User edgar", "Group editors"]) await listed("Gains: 3").getByText(who).first().waitFor();
    await listed("Gains").getByText("update configmaps in shop").first().waitFor();
    await listed("Losses: none").waitFor();
    // A rule less: get of pods goes, and the denial takes nothing from those who could not delete anyway.
    await edit("Document Role", "shop", "careful", (yaml) => yaml.replace(/  - get\n/, ""));
    await listed("Losses: 3").getByText("get pods in shop").first().waitFor();
    await listed("Gains: none").waitFor();
    // A denial more, without a restriction.
    await edit("Document Role", "shop", "careful", (yaml) => `${yaml}- deny: true\n  verbs: [get]\n  resourceKinds: [pods]\n`);
    await listed("Losses: 3").getByText("User edgar").waitFor();
    // Somebody else is bound: who is new gains, who goes loses.
    await edit("Document RoleBinding", "shop", "careful", (yaml) => yaml.replace("- edgar", "- nora"));
    await listed("Gains").getByText("User nora").first().waitFor();
    await listed("Losses").getByText("User edgar").first().waitFor();
    await page.getByRole("button", {name: "Apply"}).click();
    await text(page, "Applied");
    await edit("Document RoleBinding", "shop", "careful", (yaml) => yaml.replace("- nora", "- edgar"));
    await page.getByRole("button", {name: "Apply"}).click();
    await text(page, "Applied");
    // A container gives nothing by itself.
    await edit("Document PolicyBinding", "shop", "master", () => "kind: PolicyBinding\npolicyRef: {namespace: master}\n");
    await text(page, "It gives nothing by itself");
    await end();
  },

  // What happened: refusals are found by user, resource and outcome, and lead to why.
  async happened() {
    const {page, context, end} = await signIn(admin);
    const sent = async (token, method, path) => (await context.request.fetch(`${base}${path}`, {method, headers: {Authorization: `Bearer ${token}`}})).status();
    expect(await sent(jane, "GET", "/api/v1/namespaces/shop/pods") === 200, "jane may list pods");
    expect(await sent(jane, "DELETE", "/api/v1/namespaces/shop/secrets/prices") === 403, "jane may not delete secrets");
    expect(await sent(marked, "GET", "/api/v1/namespaces/shop/configmaps") === 200, "the other may list");
    await go(page, "happened");
    const rows = page.getByRole("listbox", {name: "Decisions, newest first"});
    await rows.getByRole("option", {name: /jane.*delete secrets prices in shop/}).first().waitFor();
    await rows.getByText("<img src=x onerror=struck=1>").first().waitFor();
    await page.getByLabel("User").fill("jane");
    await page.getByRole("combobox", {name: "Resource"}).fill("secrets");
    await page.getByRole("combobox", {name: "Outcome"}).selectOption("refused");
    await page.keyboard.press("Tab");
    await page.getByRole("button", {name: "Read anew"}).click();
    await page.waitForFunction(() => document.querySelectorAll("#main .decisions [role=option]").length === 1);
    await rows.getByRole("option").click();
    await text(page, 'cannot delete resource "secrets"');
    await picture(page, "ui-happened");
    await page.getByRole("link", {name: "Why?"}).click();
    await page.locator(".verdict.no").waitFor();
    expect(await page.getByLabel("User").inputValue() === "jane" && await page.getByLabel("Groups").inputValue() === "dev system:authenticated"
           && await page.getByLabel("Name", {exact: true}).inputValue() === "prices", "the question is not that of the decision");
    // Whoever may not read them is told, and nothing is asked.
    await page.getByRole("button", {name: "Sign out"}).click();
    await page.getByLabel("Token").fill(jane);
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", {name: "Stories"}).waitFor();
    await go(page, "happened");
    await text(page, "You may not see what others did");
    await end();
  },

  async no_decisions() {
    const {page, end} = await signIn(admin);
    await go(page, "happened");
    await text(page, "This server keeps no decisions");
    await end();
  },

  // Signing in at an issuer: CARDEA_ISSUER, in a window of its own.
  async at_an_issuer() {
    const issuer = process.env.CARDEA_ISSUER;
    const begin = async (options = {}) => {
      const visitor = await visit({also: [issuer], ...options}), {page, context} = visitor;
      const [other] = await Promise.all([context.waitForEvent("page"), page.getByRole("button", {name: `Sign in with ${new URL(issuer).host}`}).click()]);
      other.on("pageerror", (error) => visitor.faults.push(`error: ${error.message}`));
      return {...visitor, other, async finish() {
        expect(!visitor.faults.length, visitor.faults.join("\n"));
        expect((await context.cookies(base)).length === 0 || new URL(base).hostname === new URL(issuer).hostname, "there is a cookie");
        expect(await page.evaluate(() => localStorage.length + sessionStorage.length) === 0, "something is stored in the browser");
        await context.close();
      }};
    };
    const logIn = async (other) => {
      await other.locator("input[name=login]").fill("olga");
      await other.locator("input[name=password]").fill("any");
      await other.locator("button[type=submit]").click();
      await other.getByRole("button", {name: "Continue"}).click();
    };
    const refused = async (page, words) => {
      await text(page, words);
      expect(await page.getByRole("navigation", {name: "Stories"}).count() === 0, "somebody is signed in");
    };

    let {page, other, finish} = await begin();
    const asked = new URL(await other.waitForURL(/\/interaction\//).then(() => other.url()));
    expect(asked.origin === issuer, `${asked}`);
    const closes = other.waitForEvent("close");
    await logIn(other);
    await page.getByRole("navigation", {name: "Stories"}).waitFor();
    await page.locator("header .who", {hasText: "oidc:olga"}).waitFor();
    await closes;
    await page.reload();
    await page.getByLabel("Token").waitFor();
    await finish();

    // The person says no at the issuer.
    ({page, other, finish} = await begin());
    await other.locator("a[href$='/abort']").click();
    await refused(page, "The issuer refused");
    await finish();

    // The answer has another state: nobody takes it, and no code is sent anywhere.
    ({page, other, finish} = await begin());
    await other.waitForURL(/\/interaction\//);
    let redeemed = 0;
    page.on("request", (request) => { if (request.url() === `${issuer}/token`) ++redeemed; });
    await other.goto(`${base}/ui/?code=stolen&state=of-another`);
    await text(other, "Nobody waits for this answer");
    expect(!other.url().includes("stolen"), "the code stays in the address");
    expect(redeemed === 0, "a code was sent");
    await page.getByRole("button", {name: "Cancel"}).click();
    await page.getByRole("button", {name: `Sign in with ${new URL(issuer).host}`}).waitFor();
    await refused(page, "Sign in");
    await finish();

    // The token has another nonce; the server would have accepted it.
    ({page, other, finish} = await begin());
    await page.route(`${issuer}/token`, async (route) => {
      const answer = await route.fetch(), tokens = await answer.json(), parts = tokens.id_token.split(".");
      const claims = {...JSON.parse(Buffer.from(parts[1], "base64url")), nonce: "of-another"};
      tokens.id_token = [parts[0], Buffer.from(JSON.stringify(claims)).toString("base64url"), parts[2]].join(".");
      await route.fulfill({response: answer, json: tokens});
    });
    await logIn(other);
    await refused(page, "This token is of another sign-in");
    await finish();

    // The token endpoint does not answer to web pages.
    ({page, other, finish} = await begin({refusals: true}));
    await page.route(`${issuer}/token`, (route) => route.abort("failed"));
    await logIn(other);
    await refused(page, "does not allow this origin (CORS)");
    await finish();
  },

  // The same where the issuer really sends no CORS headers: the browser keeps the answer from the page.
  async at_an_issuer_without_cors() {
    const issuer = process.env.CARDEA_ISSUER;
    const visitor = await visit({also: [issuer], refusals: true}), {page, context, faults} = visitor;
    const [other] = await Promise.all([context.waitForEvent("page"), page.getByRole("button", {name: `Sign in with ${new URL(issuer).host}`}).click()]);
    await other.locator("input[name=login]").fill("olga");
    await other.locator("input[name=password]").fill("any");
    await other.locator("button[type=submit]").click();
    await other.getByRole("button", {name: "Continue"}).click();
    await text(page, "does not allow this origin (CORS)");
    expect(faults.every((fault) => /CORS/.test(fault)), faults.join("\n"));
    await context.close();
  },

  // Names that are markup, wherever a name is shown: the viewer's own, subjects, bindings, roles, policies and what they say.
  async names_that_are_markup() {
    const {page, end} = await signIn(marked, {refusals: true});
    const evil = "<img src=x onerror=struck=1>";
    await page.locator("header .who", {hasText: evil}).waitFor();
    await page.locator("dl.facts .chip", {hasText: evil}).waitFor();
    await page.getByRole("combobox", {name: "Namespace"}).click();
    await go(page, "who?verb=delete&target=configmaps&namespace=shop&ask=1");
    await page.locator(".condition.deny", {hasText: `User ${evil}`}).waitFor();
    await go(page, `may?user=${encodeURIComponent(evil)}&verb=delete&target=configmaps&namespace=shop&ask=1`);
    await page.locator(".condition", {hasText: evil}).first().waitFor();
    await go(page, `may?user=${encodeURIComponent(evil)}&verb=${encodeURIComponent(evil)}&target=${encodeURIComponent(evil)}&namespace=${encodeURIComponent(evil)}&ask=1`);
    await page.locator(".verdict, [role=alert]").first().waitFor();
    await go(page, "change");
    await page.getByRole("combobox", {name: "Kind"}).selectOption("Role");
    await page.getByRole("combobox", {name: "Namespace"}).fill("shop");
    await page.getByRole("textbox", {name: "Name", exact: true}).fill(evil);
    await page.getByRole("button", {name: "Load"}).click();
    await page.waitForFunction(() => document.querySelector("#main textarea").value.includes("rules:"));
    const yaml = await page.locator("#main textarea").inputValue();
    await page.locator("#main textarea").fill(yaml.replace("- get", `- get\n  - ${JSON.stringify(evil)}`));
    await page.getByRole("button", {name: "What would change?"}).click();
    await page.getByRole("heading", {name: /Gains: 1/}).waitFor();
    await text(page, `User ${evil}`);
    await go(page, "grants?kind=ClusterAccessPolicy&name=markup");
    await page.locator(".graph text", {hasText: "<img src=x"}).first().waitFor();
    await go(page, "grants?kind=Document%20Role&namespace=shop&name=careful");
    await page.getByRole("cell", {name: evil}).first().waitFor();
    await go(page, `who?verb=get&target=configmaps&namespace=shop&ask=1`);
    await page.getByLabel("Filter the subjects").fill("onerror");
    await page.getByRole("option", {name: evil}).click();
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await go(page, `grants?kind=Role&namespace=shop&name=${encodeURIComponent(evil)}`);
    await page.locator(".graph text", {hasText: "<img src=x"}).first().waitFor();
    await page.getByText("Roles", {exact: true}).click();
    await page.getByRole("option", {name: evil}).waitFor();
    await go(page, `may?user=${encodeURIComponent(evil)}&groups=${encodeURIComponent("<svg/onload=struck=2>")}&verb=get&target=configmaps&namespace=shop&ask=1`);
    await page.locator(".verdict.yes").waitFor();
    await go(page, `expressions?expression=${encodeURIComponent(`object.a == "${evil}"`)}`);
    await page.getByRole("button", {name: "Evaluate"}).click();
    await text(page, "struck=1");
    const inserted = await page.evaluate(() => document.querySelectorAll("#app img:not([src='icon.svg']), #app script, #app iframe").length);
    expect(inserted === 0, "a name became an element");
    const isGuarded = await page.evaluate(() => { try { document.body.innerHTML = "<b>x</b>"; return false; } catch { return true; } });
    expect(isGuarded, "text can become markup");
    await end().catch((error) => { if (!/TrustedHTML|Trusted Type/.test(error.message)) throw error; });
  },

  async few_permissions() {
    const {page, end} = await signIn(jane, {refusals: true});
    await go(page, "may?user=bob&verb=get&target=secrets&ask=1");
    await text(page, "You may not ask this");
    expect(await page.getByLabel("User").inputValue() === "bob", "what was entered is gone");
    await go(page, "who?verb=get&target=secrets&ask=1");
    await text(page, "You need to create resourceaccessreviews.access.cardea.dev");
    await go(page, "grants");
    await page.getByText("Policies", {exact: true}).click();
    await text(page, "You may not list accesspolicies.access.cardea.dev");
    await end();
  },

  async an_old_server() {
    const {page, end} = await visit();
    await page.route("**/apis", async (route) => {
      const answer = await route.fetch(), document = await answer.json();
      document.items = document.items.filter((group) => group.metadata.name !== "access.cardea.dev");
      await route.fulfill({response: answer, json: document});
    });
    await page.getByLabel("Token").fill(admin);
    await page.keyboard.press("Enter");
    await cell(page, "pods", "get").getByRole("button", {name: "yes"}).waitFor();
    for (const story of ["who", "expressions"]) {
      await go(page, story);
      await text(page, "This server is too old for this story");
    }
    await go(page, "may?user=jane&groups=dev&verb=get&target=pods&ask=1");
    await page.locator(".verdict.yes").waitFor();
    await end();
  },

  async a_lost_connection() {
    const {page, end} = await signIn(admin, {refusals: true});
    await go(page, "may");
    await page.getByLabel("User").fill("jane");
    await page.getByRole("combobox", {name: "Resource"}).fill("pods");
    await page.route("**/apis/**", (route) => route.abort("connectionreset"));
    await ask(page);
    await text(page, "The server cannot be reached");
    expect(await page.getByLabel("User").inputValue() === "jane", "what was entered is gone");
    await page.unroute("**/apis/**");
    await ask(page);
    await page.locator(".verdict").waitFor();
    // The same where a whole object and an expression were written.
    await go(page, "change");
    await page.getByRole("combobox", {name: "Kind"}).selectOption("ClusterRole");
    await page.getByRole("textbox", {name: "Name", exact: true}).fill("written");
    await page.locator("#main textarea").fill("rules: []  # much work");
    await go(page, "expressions");
    await page.getByLabel("Expression").fill("1 + 1");
    await page.route("**/apis/**", (route) => route.abort("connectionreset"));
    await page.getByRole("button", {name: "Evaluate"}).click();
    await text(page, "The server cannot be reached");
    expect(await page.getByLabel("Expression").inputValue() === "1 + 1", "the expression is gone");
    await go(page, "change");
    await page.getByRole("button", {name: "What would change?"}).click();
    await text(page, "The server cannot be reached");
    expect(await page.locator("#main textarea").inputValue() === "rules: []  # much work", "the object is gone");
    await page.unroute("**/apis/**");
    await go(page, "may");
    // Credentials that run out ask for new ones, above the form.
    await page.route("**/apis/**", (route) => route.fulfill({status: 401, json: {kind: "Status", message: "Unauthorized"}}));
    await ask(page);
    await text(page, "The server no longer accepts the credentials");
    await page.unroute("**/apis/**");
    await page.getByRole("dialog").getByLabel("Token").fill(admin);
    await page.getByRole("dialog").getByRole("button", {name: "Sign in"}).click();
    await page.getByRole("dialog").waitFor({state: "detached"});
    expect(await page.getByLabel("User").inputValue() === "jane", "what was entered is gone");
    await ask(page);
    await page.locator(".verdict").waitFor();
    await end();
  },

  // Wherever text can be entered: a clear message, and the text stays.
  async ten_megabytes_of_yaml() {
    const {page, end} = await signIn(admin);
    const tooMuch = async (place, button) => {
      await page.evaluate((at) => { document.querySelectorAll("#main textarea")[at].value = `object:\n${"  key: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n".repeat(215_000)}`; }, place);
      await page.getByRole("button", {name: button}).click();
      await page.locator("#main").getByText("This is too large for the server").first().waitFor();
      const left = await page.evaluate((at) => document.querySelectorAll("#main textarea")[at].value.length, place);
      expect(left > 10_000_000, "what was entered is gone");
    };
    await go(page, "expressions");
    await page.getByRole("heading", {name: "Expressions", exact: true}).waitFor();
    await tooMuch(1, "Evaluate");
    await go(page, "may?user=jane&verb=create&target=persistentvolumes");
    await page.getByRole("heading", {name: "May they?"}).waitFor();
    await tooMuch(0, "Ask");
    await go(page, "change");
    await page.getByRole("heading", {name: "Try a change"}).waitFor();
    await page.getByRole("combobox", {name: "Kind"}).selectOption("ClusterRole");
    await page.getByRole("textbox", {name: "Name", exact: true}).fill("large");
    await tooMuch(0, "What would change?");
    await end();
  },

  // CARDEA_MANY namespaces, and as many bindings.
  async a_large_cluster() {
    const many = Number(process.env.CARDEA_MANY).toLocaleString("en");
    const {page, end} = await signIn(admin);
    await page.getByRole("combobox", {name: "Namespace"}).click();
    await page.getByRole("combobox", {name: "Namespace"}).fill("space-0");
    await page.getByRole("option", {name: "space-00000"}).waitFor();
    const options = () => page.evaluate(() => document.querySelectorAll("#main .virtual-row").length);
    expect(await options() < 100, `${await options()} rows are drawn`);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await cell(page, "pods", "get").getByRole("button", {name: "yes"}).waitFor();
    await go(page, "grants");
    await page.getByText("Cluster bindings", {exact: true}).click();
    await page.waitForFunction(() => /\d in all/.test(document.querySelector("#main").innerText));
    await page.getByLabel("Filter").fill("many-00042");
    await page.getByRole("option", {name: "many-00042"}).click();
    await page.locator(".graph text", {hasText: "many-00042"}).first().waitFor();
    await go(page, "grants?kind=ClusterRole&name=many");
    await text(page, `${many} bindings and ${many} subjects in all`);
    expect(await options() < 200, `${await options()} rows are drawn`);
    await end();
  },

  async the_keyboard_alone() {
    const {page, end} = await visit();
    await page.keyboard.type(admin);  // the field has the focus
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", {name: "Stories"}).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement.textContent) === "Skip to the content", "the first stop is not the way to the content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement.id) === "main", "the content is not reached");
    await page.getByRole("link", {name: "Who can?"}).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("combobox", {name: "Resource"}).focus();
    await page.keyboard.type("persistentvolumec");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    expect(await page.getByRole("combobox", {name: "Resource"}).inputValue() === "persistentvolumeclaims", "the suggestion was not taken");
    await page.keyboard.press("Enter");
    await page.getByRole("listbox", {name: "Subjects that may do it"}).focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({state: "detached"});
    await end();
  },

  // axe finds nothing serious, at both widths and in both colours, and nothing is wider than the window.
  async for_everybody() {
    for (const [width, colorScheme] of [[1280, "light"], [390, "dark"], [390, "light"], [1280, "dark"]]) {
      const visitor = await visit({width, colorScheme}), {page} = visitor;
      await check(page, `sign-in ${width} ${colorScheme}`);
      await page.getByLabel("Token").fill(admin);
      await page.keyboard.press("Enter");
      await page.getByRole("navigation", {name: "Stories"}).waitFor();
      for (const story of STORIES) {
        await go(page, {may: "may?user=jane&groups=dev&verb=create&target=persistentvolumes&ask=1", who: "who?verb=get&target=pods&ask=1",
                        grants: "grants?kind=Role&name=cleaner&namespace=shop"}[story] ?? story);
        if (story === "expressions") await page.getByRole("button", {name: "Evaluate"}).click();
        await page.waitForFunction(() => !document.querySelector("#main .busy") && !/Reading…|to come…/.test(document.querySelector("#main").innerText));
        await page.waitForLoadState("networkidle");
        await check(page, `${story} ${width} ${colorScheme}`);
        if (width === 390 && colorScheme === "dark" && ["me", "may"].includes(story)) await picture(page, `ui-${story}-narrow-${colorScheme}`);
        if (width === 1280 && colorScheme === "dark" && story === "may") await picture(page, "ui-may-dark");
      }
      await visitor.end();
    }
  },
};

async function check(page, where) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(wide <= 0, `${where}: ${wide} pixels wider than the window`);
  // The content policy lets no script in but the page's own; the driver evaluates this one from outside.
  const report = await page.evaluate(`${axe}; axe.run(document, {resultTypes: ["violations"]})`);
  const serious = report.violations.filter((v) => ["serious", "critical"].includes(v.impact));
  expect(!serious.length, `${where}: ${serious.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.html} ${n.failureSummary}`).join(" | ")}`).join("\n")}`);
}

const name = process.argv[2];
try {
  expect(chapters[name], `there is no chapter ${name}; there are ${Object.keys(chapters).join(" ")}`);
  await chapters[name]();
} finally {
  await browser.close();
}
