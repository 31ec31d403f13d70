// Who the server takes me for, and what I may do.
import {nameOf, outcome} from "./api.js";
import {h, replace, settled} from "./dom.js";
import {namespaceSource, answerView, busy, chips, count, failureNotice, outcomeMark, section, showDialog, suggestField, textField} from "./parts.js";

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
const ROWS = 100;  // shown at once
const AT_ONCE = 96;  // questions between two drawings, where they are asked one by one
const FIELDS = ["granular", "granular:metadata", "granular:labels", "granular:annotations", "granular:finalizers", "granular:ownerReferences",
                "granular:specification", "granular:status", "granular:replicaCount", "granular:computeResources"];

function identity(user) {
  const extra = Object.entries(user.extra ?? {});
  const credential = user.extra?.["authentication.kubernetes.io/credential-id"]?.[0];
  return section("Who the server takes me for", h("dl", {class: "facts"},
    h("dt", {}, "User"), h("dd", {class: "mono"}, user.username),
    user.uid && [h("dt", {}, "UID"), h("dd", {class: "mono"}, user.uid)],
    h("dt", {}, "Groups"), h("dd", {}, user.groups?.length ? chips(user.groups) : "none"),
    h("dt", {}, "Credential"), h("dd", {class: "mono"}, credential ?? "without an id"),
    extra.length > 0 && [h("dt", {}, "Extra"), h("dd", {}, extra.map(([key, values]) => h("div", {class: "mono"}, `${key}: ${values.join(", ")}`)))]));
}

export function me({api, user}) {
  const cells = new Map();     // "resource verb" → status, for the namespace that is shown
  const expanded = new Map();  // rows that are open, and what is in them
  let round = null;            // the questions on their way; a new namespace cancels them
  let shown = ROWS;
  const table = h("table", {class: "matrix"});
  const state = h("div", {"aria-live": "polite"});
  const more = h("button", {type: "button", class: "quiet", hidden: true, on: {click: () => { shown += ROWS; draw(); ask(); }}}, "Show more");
  const place = suggestField({label: "Namespace", source: namespaceSource(api), placeholder: "the whole cluster", hint: "Empty: in all namespaces, and outside of them.",
                              onChange: settled(() => load(), 400)});
  const filter = textField({label: "Filter", placeholder: "pods, apps, secrets…"});
  const onlyMine = h("input", {type: "checkbox"});
  filter.input.addEventListener("input", settled(() => { shown = ROWS; draw(); ask(); }));
  onlyMine.addEventListener("change", () => draw());

  const rows = () => api.resources.filter((r) => r.namespaced || !place.value).filter((r) => `${nameOf(r)} ${r.kind}`.toLowerCase().includes(filter.value.toLowerCase()));
  const key = (r, verb) => `${nameOf(r)} ${verb}`;
  const question = (r, verb, subresource) => ({resourceAttributes: {
    verb, group: r.group, version: r.version, resource: r.resource, ...(subresource && {subresource}), ...(r.namespaced && place.value && {namespace: place.value})}});

  function cell(r, verb) {
    if (!r.verbs.includes(verb)) return h("td", {class: "none"}, h("span", {"aria-hidden": "true"}, "–"), h("span", {class: "unseen"}, "not a verb of this"));
    const status = cells.get(key(r, verb));
    if (!status) return h("td", {}, h("span", {class: "unseen"}, "not asked yet"));
    const word = outcome(status);
    const explain = () => showDialog(`${verb} ${nameOf(r)}${place.value ? ` in ${place.value}` : ""}`, answerView(status), h("p", {}, whyLink(r, verb)));
    return h("td", {class: word}, word === "if" || word === "yes" || word === "denied"
      ? h("button", {type: "button", title: status.reason ?? "", on: {click: explain}}, outcomeMark(word, word === "if")) : outcomeMark(word));
  }

  function whyLink(r, verb) {
    const query = new URLSearchParams({user: user.username, groups: (user.groups ?? []).join(" "), verb, target: nameOf(r), namespace: r.namespaced ? place.value : "", ask: "1"});
    return h("a", {href: `#/may?${query}`, on: {click: () => document.querySelector("dialog[open]")?.close()}}, "Why?");
  }

  function draw() {
    let list = rows();
    if (onlyMine.checked) list = list.filter((r) => VERBS.some((v) => ["yes", "if"].includes(outcome(cells.get(key(r, v)) ?? {}))));
    const body = list.slice(0, shown).map((r) => {
      const content = expanded.get(nameOf(r));
      const button = h("button", {type: "button", class: "expand", "aria-expanded": content ? "true" : "false", on: {click: () => expand(r, button)}}, r.resource);
      return [h("tr", {}, h("th", {scope: "row"}, button, r.group && h("div", {class: "group"}, r.group)), VERBS.map((v) => cell(r, v))),
              content && h("tr", {class: "more"}, content)];
    });
    const focused = table.contains(document.activeElement) ? document.activeElement.textContent : null;
    replace(table, h("caption", {class: "unseen"}, "What I may do: resources and verbs"),
            h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "Resource"), VERBS.map((v) => h("th", {scope: "col"}, v)))),
            h("tbody", {}, body.length ? body : h("tr", {}, h("td", {colspan: VERBS.length + 1}, "Nothing here fits the filter."))));
    if (focused !== null) [...table.querySelectorAll(".expand")].find((b) => b.textContent === focused)?.focus({preventScroll: true});
    more.hidden = list.length <= shown;
  }

  // The parts of a resource: subresources, and permissions on fields.
  async function expand(r, button) {
    const row = button.closest("tr");
    if (button.getAttribute("aria-expanded") === "true") {
      button.setAttribute("aria-expanded", "false");
      expanded.delete(nameOf(r));
      row.nextElementSibling.remove();
      return;
    }
    button.setAttribute("aria-expanded", "true");
    const content = h("td", {colspan: VERBS.length + 1}, busy("Asking…"));
    expanded.set(nameOf(r), content);
    row.after(h("tr", {class: "more"}, content));
    const parts = r.subresources.flatMap((s) => s.verbs.map((v) => ({name: `${v} ${r.resource}/${s.name}`, item: question(r, v, s.name)})));
    const fields = r.verbs.includes("update") ? FIELDS.map((f) => ({name: f, item: question(r, f)})) : [];
    const all = [...parts, ...fields];
    if (!all.length) return replace(content, h("span", {class: "soft"}, "It has no subresources and no fields that can be written."));
    try {
      const answers = await api.ask(user, all.map((a) => a.item), {isSelf: true});
      const shownParts = (from, to) => h("ul", {class: "chips"}, all.slice(from, to).map((a, i) => {
        const word = outcome(answers[from + i]);
        return h("li", {class: `chip ${word}`}, outcomeMark(word), " ", a.name);
      }));
      replace(content, parts.length > 0 && [h("strong", {}, "Subresources"), shownParts(0, parts.length)],
              fields.length > 0 && [h("strong", {}, "Permissions on fields"), shownParts(parts.length, all.length)]);
    } catch (error) {
      replace(content, failureNotice(error));
    }
  }

  async function ask() {
    const mine = round = new AbortController();
    let isMany = false;
    try {
      isMany = await api.mayBatch();
    } catch (error) {
      return replace(state, failureNotice(error), h("button", {type: "button", on: {click: ask}}, "Ask again"));
    }
    if (mine !== round) return;
    const missing = rows().slice(0, isMany ? undefined : shown)
      .flatMap((r) => VERBS.filter((v) => r.verbs.includes(v) && !cells.has(key(r, v))).map((verb) => ({r, verb})));
    if (!missing.length) return;
    replace(state, busy(`Asking ${count(missing.length)} questions…`));
    try {
      const step = isMany ? missing.length : AT_ONCE;
      for (let at = 0; at < missing.length; at += step) {
        const part = missing.slice(at, at + step);
        const answers = await api.ask(user, part.map((m) => question(m.r, m.verb)), {isSelf: true, signal: mine.signal});
        if (mine !== round) return;
        part.forEach((m, i) => cells.set(key(m.r, m.verb), answers[i]));
        replace(state, at + step < missing.length && busy(`${count(at + step)} of ${count(missing.length)} questions answered…`));
        draw();
      }
    } catch (error) {
      if (mine !== round || error.name === "AbortError") return;
      replace(state, failureNotice(error), h("button", {type: "button", on: {click: ask}}, "Ask again"));
    }
  }

  function load() {
    round?.abort();
    cells.clear();
    expanded.clear();
    shown = ROWS;
    draw();
    ask();
  }

  const element = h("div", {}, h("h1", {}, "Me"), identity(user),
    section("What I may do",
      h("div", {class: "row"}, place.element, filter.element, h("label", {class: "check"}, onlyMine, "only what I may do")), state,
      h("div", {class: "table-frame", tabindex: "0", role: "region", "aria-label": "The matrix of permissions"}, table), h("p", {}, more)));
  load();
  return {element};
}
