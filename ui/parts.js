// What several stories show: notices, outcomes, lists that draw only what is visible, fields that suggest.
import {h, newId, replace} from "./dom.js";
import {nameOf, outcome} from "./api.js";
import {celText} from "./cel_text.js";

export const count = (n) => n.toLocaleString("en");

export function notice(tone, title, ...text) {
  return h("div", {class: `notice ${tone}`, role: tone === "bad" ? "alert" : "status"}, h("strong", {}, title), h("div", {}, text));
}

export function failureNotice(error, hint) {
  const causes = (error.causes ?? []).slice(0, 8).map((c) => h("li", {}, c.field ? `${c.field}: ` : "", c.message));
  return notice("bad", error.title ?? "Something went wrong", h("p", {}, error.message),
                causes.length > 1 && h("ul", {}, causes), hint && h("p", {class: "hint"}, hint));
}

export const busy = (text) => h("p", {class: "busy", role: "status"}, h("span", {class: "spinner", "aria-hidden": "true"}), text);

const WORDS = {yes: ["✓", "yes"], no: ["·", "no"], denied: ["✕", "denied"], if: ["◐", "yes, if"]};

export function outcomeMark(word, long = false) {
  const [sign, text] = WORDS[word];
  return h("span", {class: `mark ${word}`}, h("span", {"aria-hidden": "true"}, long && word === "no" ? "✕" : sign), h("span", {class: long ? "" : "unseen"}, text));
}

export const chips = (texts, tone = "") => h("ul", {class: "chips"}, texts.map((t) => h("li", {class: `chip ${tone}`}, t)));

export function section(title, ...content) {
  const id = newId("section");
  return h("section", {class: "card", "aria-labelledby": id}, h("h2", {id}, title), content);
}

// A list of any length in which only the visible rows are elements. With `pick` the rows can be chosen, by keyboard too.
export class VirtualList {
  constructor({label, rowHeight = 34, render, pick, nearEnd, className = ""}) {
    Object.assign(this, {rowHeight, render, pick, nearEnd, items: [], active: -1, chosen: -1});
    this.inner = h("div", {class: "virtual-inner", role: "presentation"});
    this.id = newId("list");
    this.element = h("div", {class: `virtual ${className}`, id: this.id, role: pick ? "listbox" : "list", tabindex: "0", "aria-label": label,
                             on: {scroll: () => this.draw(), keydown: (e) => this.key(e)}}, this.inner);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  set(items, {keep = false} = {}) {
    this.items = items;
    if (!keep) {
      this.active = this.chosen = -1;
      this.element.scrollTop = 0;
    }
    this.inner.style.height = `${items.length * this.rowHeight}px`;
    this.draw();
  }

  draw() {
    const top = this.element.scrollTop, height = this.element.clientHeight || 320;
    const from = Math.max(0, Math.floor(top / this.rowHeight) - 6);
    const to = Math.min(this.items.length, Math.ceil((top + height) / this.rowHeight) + 6);
    const rows = [];
    for (let i = from; i < to; ++i) {
      const row = h("div", {class: `virtual-row${i === this.active ? " active" : ""}`, id: `${this.id}-${i}`, role: this.pick ? "option" : "listitem",
                            "aria-setsize": this.items.length, "aria-posinset": i + 1,
                            "aria-selected": this.pick ? String(i === this.chosen) : undefined,
                            on: this.pick ? {click: () => this.choose(i)} : {}}, this.render(this.items[i], i));
      row.style.top = `${i * this.rowHeight}px`;
      row.style.height = `${this.rowHeight}px`;
      rows.push(row);
    }
    replace(this.inner, rows);
    this.mark();
    if (this.nearEnd && to + 50 > this.items.length) this.nearEnd();
  }

  mark() {
    const isDrawn = this.active >= 0 && this.inner.querySelector(`#${this.id}-${this.active}`);
    if (isDrawn) this.element.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  move(to) {
    if (!this.items.length) return;
    this.active = Math.max(0, Math.min(this.items.length - 1, to));
    const top = this.active * this.rowHeight, height = this.element.clientHeight;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + this.rowHeight > this.element.scrollTop + height) this.element.scrollTop = top + this.rowHeight - height;
    this.draw();
  }

  choose(i) {
    if (i < 0 || i >= this.items.length) return;
    this.active = this.chosen = i;
    this.draw();
    this.pick(this.items[i], i);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight) - 1);
    const steps = {ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page,
                   Home: 0, End: this.items.length - 1};
    if (this.pick && event.key in steps) this.move(steps[event.key]);
    else if (this.pick && (event.key === "Enter" || event.key === " ") && this.active >= 0) this.choose(this.active);
    else return;
    event.preventDefault();
  }
}

// Names of a collection, read page by page when somebody wants them.
class NameSource {
  constructor(api, path, nameFrom = (o) => o.metadata.name) {
    Object.assign(this, {api, path, nameFrom, names: [], state: "new", listeners: new Set()});
  }

  async start() {
    if (this.state !== "new") return;
    this.state = "reading";
    try {
      if (this.allowed && !await this.allowed()) {
        this.state = "forbidden";
        return this.tell();
      }
      for await (const page of this.api.pages(this.path)) {
        this.names.push(...page.items.map(this.nameFrom));
        this.tell();
      }
      this.state = "done";
    } catch (error) {
      this.state = error.status === 403 ? "forbidden" : "failed";
    }
    this.tell();
  }

  tell() {
    for (const listener of this.listeners) listener();
  }
}

export function namespaceSource(api) {
  const source = new NameSource(api, "/api/v1/namespaces");
  source.allowed = () => api.mayI("list", "namespaces");
  return source;
}

export const fixedSource = (names) => ({names: typeof names === "function" ? undefined : names, of: typeof names === "function" ? names : undefined,
                                        state: "done", listeners: new Set(), start() {}});

// A field that takes any text and suggests names, as many as there are.
export function suggestField({label, source, value = "", placeholder = "", hint, required = false, onChange}) {
  const id = newId("field"), hintId = hint ? newId("hint") : undefined;
  const list = new VirtualList({label: `${label}: suggestions`, rowHeight: 30, className: "popup-list", render: (name) => h("span", {class: "mono"}, name),
                                pick: (name) => take(name)});
  const state = h("p", {class: "hint popup-state", role: "status"});
  const popup = h("div", {class: "popup", hidden: true}, list.element, state);
  list.element.setAttribute("tabindex", "-1");
  const input = h("input", {id, class: "mono", type: "text", value, placeholder, autocomplete: "off", autocapitalize: "off", spellcheck: "false", role: "combobox",
                            "aria-expanded": "false", "aria-autocomplete": "list", "aria-controls": list.id, "aria-describedby": hintId,
                            "aria-required": required ? "true" : undefined});
  const field = h("div", {class: "field suggest"}, h("label", {for: id}, label), input, popup, hint && h("p", {class: "hint", id: hintId}, hint));
  const names = () => source.names ?? source.of();
  const refresh = () => {
    const typed = input.value.trim().toLowerCase(), all = names();
    const starts = [], holds = [];
    for (const name of all) {
      const at = name.toLowerCase().indexOf(typed);
      if (at === 0) starts.push(name);
      else if (at > 0) holds.push(name);
    }
    list.set(typed ? starts.concat(holds) : all);
    const notes = {reading: `${count(all.length)} read, reading more…`, forbidden: "You may not list these; type the name.",
                   failed: "The list could not be read; type the name."};
    replace(state, notes[source.state] ?? "");
    state.hidden = !notes[source.state];
  };
  const show = (is) => {
    const isOpen = is && (list.items.length > 0 || !state.hidden);
    popup.hidden = !isOpen;
    input.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) list.draw();
    else input.removeAttribute("aria-activedescendant");
  };
  const take = (name) => {
    input.value = name;
    show(false);
    onChange?.(name);
  };
  source.listeners.add(() => {
    if (!popup.hidden || document.activeElement === input) {
      refresh();
      show(document.activeElement === input);
    }
  });
  input.addEventListener("focus", () => source.start());
  input.addEventListener("click", () => { refresh(); show(true); });
  input.addEventListener("input", () => { refresh(); show(true); onChange?.(input.value.trim()); });
  input.addEventListener("blur", () => setTimeout(() => show(false), 150));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !popup.hidden) {
      show(false);
      event.preventDefault();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (popup.hidden) { refresh(); show(true); }
      list.move(list.active + (event.key === "ArrowDown" ? 1 : -1));
      if (list.active >= 0) input.setAttribute("aria-activedescendant", `${list.id}-${list.active}`);
      event.preventDefault();
    } else if (event.key === "Enter" && !popup.hidden) {
      if (list.active < 0) return show(false);  // and the form is sent
      take(list.items[list.active]);
      event.preventDefault();
    }
  });
  return {element: field, input, get value() { return input.value.trim(); }, set value(text) { input.value = text; }};
}

export function textField({label, value = "", placeholder = "", hint, multiline = false, rows = 8, type = "text", className = ""}) {
  const id = newId("field"), hintId = hint ? newId("hint") : undefined;
  const input = h(multiline ? "textarea" : "input", {id, class: "mono", placeholder, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
                                                     "aria-describedby": hintId, ...(multiline ? {rows} : {type})});
  input.value = value;
  return {element: h("div", {class: `field ${className}`}, h("label", {for: id}, label), input, hint && h("p", {class: "hint", id: hintId}, hint)), input,
          get value() { return multiline ? input.value : input.value.trim(); }, set value(text) { input.value = text; }};
}

// `dev, "Domain Users"` as a list, and a list as such a text.
export const listed = (text) => [...text.matchAll(/"([^"]*)"|[^,\s"]+/g)].map((m) => m[1] ?? m[0]).filter(Boolean);
export const asWords = (list) => list.map((word) => (/[,\s]/.test(word) ? `"${word}"` : word)).join(" ");

export const targets = (api) => fixedSource(() => api.resources.flatMap((r) => [nameOf(r), ...r.subresources.map((s) => `${nameOf(r)}/${s.name}`)]));

export function verbsOf(api, target) {
  const [whole, sub] = target.split("/", 2);
  const known = api.resources.find((r) => whole === nameOf(r) || whole === r.resource);
  const verbs = sub ? known?.subresources.find((s) => s.name === sub)?.verbs : known?.verbs;
  return verbs?.length ? [...verbs] : ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
}

// The conditions of an answer, authorizer by authorizer.
export function conditionsView(chain) {
  return h("div", {class: "conditions"}, chain.map((entry) => h("div", {class: "authorizer"},
    h("h3", {}, `Authorizer ${entry.authorizerName}`),
    entry.allowed && h("p", {}, outcomeMark("yes", true), " whatever the object is"),
    entry.denied && h("p", {}, outcomeMark("denied", true), " whatever the object is"),
    (entry.conditions ?? []).map((c) => h("div", {class: `condition ${c.effect.toLowerCase()}`},
      h("p", {}, h("strong", {}, {Allow: "Allowed if", Deny: "Denied if", NoOpinion: "Left to the next one if"}[c.effect] ?? c.effect)),
      c.condition && celText(c.condition),
      c.description && h("p", {}, c.description),
      h("p", {class: "hint mono"}, c.id))))));
}

export function answerView(status) {
  return h("div", {class: "answer"},
    h("p", {class: `verdict ${outcome(status)}`}, outcomeMark(outcome(status), true)),
    status.reason && h("p", {}, status.reason),
    status.evaluationError && h("p", {class: "bad-text"}, status.evaluationError),
    status.conditionsChain?.length ? conditionsView(status.conditionsChain) : null);
}

// A dialog above the page; it closes with Escape, and the focus returns.
export function showDialog(title, ...content) {
  const id = newId("dialog");
  const dialog = h("dialog", {"aria-labelledby": id},
    h("div", {class: "dialog-head"}, h("h2", {id}, title), h("button", {type: "button", class: "quiet", on: {click: () => dialog.close()}}, "Close")), content);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
