// The frame: signing in, the list of stories, and which of them is shown.
import {Api} from "./api.js";
import {handOver, placesToSignIn, signInAt} from "./issuer.js";
import {add, h, replace} from "./dom.js";
import {busy, failureNotice, notice} from "./parts.js";
import {me} from "./me.js";
import {may} from "./may.js";
import {who} from "./who.js";
import {grants} from "./grants.js";
import {playground} from "./playground.js";
import {change} from "./change.js";
import {happened} from "./happened.js";

// A story makes its element once; leaving and coming back loses nothing. `needs` is what the server must serve for it.
const STORIES = [
  {path: "me", title: "Me", make: me},
  {path: "may", title: "May they?", make: may},
  {path: "who", title: "Who can?", make: who, needs: ["resourceaccessreviews", "access.cardea.dev"]},
  {path: "grants", title: "What is granted", make: grants},
  {path: "expressions", title: "Expressions", make: playground, needs: ["expressionreviews", "access.cardea.dev"]},
  {path: "change", title: "Try a change", make: change},
  {path: "happened", title: "What happened", make: happened, needs: ["decisions", "access.cardea.dev"],
   without: ["This server keeps no decisions", "It was started with --decision-history=0, or is too old, or you may not see what it serves. The other stories work."]},
];

const root = document.getElementById("app");
let session = null;  // {api, user, views}

function themeButton() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const button = h("button", {type: "button", class: "quiet", on: {click: () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    label();
  }}});
  const label = () => replace(button, isDark() ? "Light" : "Dark", h("span", {class: "unseen"}, " colours"));
  label();
  return button;
}

const brand = () => h("a", {class: "brand", href: "#/"}, h("img", {src: "icon.svg", alt: ""}), "Cardea");

// A button for each issuer, and what it says while another window is open.
function issuerButtons(attempt) {
  const element = h("div", {});
  const begin = (place) => attempt(async (say) => {
    const round = new AbortController();
    say(busy(`Sign in at ${new URL(place.issuer).host}, in the other window.`), h("p", {}, h("button", {type: "button", class: "quiet", on: {click: () => round.abort()}}, "Cancel")));
    return signInAt(place, round.signal);
  });
  placesToSignIn().then((places) => replace(element, places.map((place) => h("p", {}, h("button", {type: "button", on: {click: () => begin(place)}}, `Sign in with ${new URL(place.issuer).host}`)))));
  return element;
}

function signInForm(onToken) {
  const token = h("input", {type: "password", id: "token", class: "mono", autocomplete: "off", spellcheck: "false"});
  const problem = h("div", {});
  const certificate = h("button", {type: "button", class: "quiet"}, "Use my client certificate");
  const submit = h("button", {type: "submit"}, "Sign in");
  const hold = (is) => form.querySelectorAll("button").forEach((button) => { button.disabled = is; });
  // `text` is a token, or a function that gets one.
  const attempt = async (text) => {
    hold(true);
    try {
      const given = typeof text === "string" ? text : await text((...shown) => replace(problem, ...shown));
      replace(problem, busy("Asking the server who you are…"));
      await onToken(given);
      token.value = "";
    } catch (error) {
      if (error.name === "AbortError") return replace(problem);
      const isCertificate = text === "" && [401, 403].includes(error.status);
      replace(problem, isCertificate ? notice("bad", "No client certificate", "The browser sent no certificate that this server accepts. Import one, or use a token.")
                                     : failureNotice(error));
    } finally {
      hold(false);
    }
  };
  certificate.addEventListener("click", () => attempt(""));
  const form = h("form", {on: {submit: (event) => {
    event.preventDefault();
    const text = token.value.trim();
    if (!text) return replace(problem, notice("bad", "A token is missing", "Paste one, or use your client certificate."));
    if (/[^\x21-\x7e]/.test(text)) return replace(problem, notice("bad", "This is not a token", "A token has no spaces and no special characters."));
    attempt(text);
  }}},
    issuerButtons(attempt),
    h("div", {class: "field"}, h("label", {for: "token"}, "Token"), token,
      h("p", {class: "hint"}, "For example from ", h("code", {}, "kubectl create token NAME"), ". It stays in the memory of this page; reloading forgets it.")),
    h("div", {class: "buttons"}, submit, certificate), problem);
  return form;
}

function showSignIn() {
  document.title = "Sign in – Cardea";
  replace(root, h("main", {class: "sign-in"}, h("div", {class: "brand"}, h("img", {src: "icon.svg", alt: ""}), "Cardea"),
    h("section", {class: "card"}, h("h1", {}, "Sign in"),
      h("p", {class: "lead"}, "Who may do what here, and why. The page shows nothing that you could not ask the API yourself."), signInForm(start)),
    h("p", {class: "hint"}, location.host)));
  root.querySelector("#token").focus();
}

async function start(token) {
  const api = new Api(token, onExpired);
  session = null;
  const user = await api.whoAmI();
  if (user.username === "system:anonymous") throw Object.assign(new Error("The server takes you for system:anonymous."), {status: 401, title: "You are not signed in"});
  await api.discover();
  session = {api, user, views: new Map()};
  showFrame();
}

// The credentials ran out while a story was open: what was entered stays, and the next token goes on.
function onExpired() {
  if (!session || document.querySelector("dialog.again")) return;
  const dialog = h("dialog", {class: "again", "aria-label": "Sign in again"}, h("h2", {}, "Sign in again"),
    h("p", {}, "The server no longer accepts the credentials. What you entered is kept."),
    signInForm(async (token) => {
      const api = new Api(token, null);
      const user = await api.whoAmI();
      if (user.username !== session.user.username) {
        dialog.close();
        return start(token);
      }
      session.api.renew(token);
      dialog.close();
    }));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function showFrame() {
  const {user} = session;
  const main = h("main", {id: "main", tabindex: "-1"});
  replace(root,
    h("a", {class: "skip", href: "#main", on: {click: (e) => { e.preventDefault(); main.focus(); }}}, "Skip to the content"),
    h("header", {class: "bar"}, brand(), h("span", {class: "where"}, location.host), h("span", {class: "grow"}),
      h("span", {class: "who", title: user.username}, user.username), themeButton(),
      h("button", {type: "button", class: "quiet", on: {click: () => { session = null; showSignIn(); }}}, "Sign out")),
    h("div", {class: "frame"},
      h("nav", {class: "side", "aria-label": "Stories"}, h("ul", {}, STORIES.map((s) => h("li", {}, h("a", {href: `#/${s.path}`}, s.title))))),
      main));
  route();
}

// #/may?verb=get&target=pods: the story, and what to put into its form.
function route() {
  if (!session) return;
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const story = STORIES.find((s) => s.path === path) ?? STORIES[0];
  document.title = `${story.title} – Cardea`;
  for (const link of root.querySelectorAll("nav.side a"))
    link.getAttribute("href") === `#/${story.path}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  const {views, api, user} = session;
  if (!views.has(story.path)) views.set(story.path, makeView(story, {api, user}));
  const view = views.get(story.path);
  const main = document.getElementById("main");
  if (main.firstChild !== view.element) {
    replace(main, view.element);
    scrollTo(0, 0);
  }
  view.open?.(new URLSearchParams(query));
}

function makeView(story, parts) {
  if (story.needs && !parts.api.serves(...story.needs)) {
    const element = h("div", {}, h("h1", {}, story.title));
    add(element, notice("warn", ...(story.without ?? ["This server is too old for this story",
                        `It does not serve ${story.needs.join(".")}, or you may not see that it does. The other stories work.`])));
    return {element};
  }
  return story.make(parts);
}

addEventListener("hashchange", route);
if (!handOver(root)) showSignIn();
