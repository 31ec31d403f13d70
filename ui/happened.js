// What happened: the last decisions of the server, and from each to why it came out so.
import {h, newId, replace} from "./dom.js";
import {VirtualList, asWords, busy, chips, count, failureNotice, notice, outcomeMark, section, suggestField, targets, textField} from "./parts.js";

const PATH = "/apis/access.cardea.dev/v1alpha1/decisions", PAGE = 200;
const OUTCOMES = [["", "all"], ["outcome!=Allowed", "refused"], ["outcome=Allowed", "allowed"]];
const MARKS = {Allowed: "yes", Denied: "denied", Error: "denied"};

export const targetOf = (r) => r.path ?? `${r.resource}${r.group ? `.${r.group}` : ""}${r.subresource ? `/${r.subresource}` : ""}`;
const shownRequest = (r) => `${r.verb} ${targetOf(r)}${r.name ? ` ${r.name}` : ""}${r.namespace ? ` in ${r.namespace}` : ""}`;
const quoted = (value) => value.replace(/[\\,=]/g, "\\$&");

// "pods", "deployments.apps/scale" or "/metrics" as the terms of a field selector.
export function termsOf({user, target, outcome}) {
  const terms = [];
  if (user) terms.push(`user=${quoted(user)}`);
  if (target.startsWith("/")) {
    terms.push(`request.path=${quoted(target)}`);
  } else if (target) {
    const [whole, part] = target.split("/", 2), dot = whole.indexOf(".");
    terms.push(`request.resource=${quoted(dot < 0 ? whole : whole.slice(0, dot))}`);
    if (dot >= 0) terms.push(`request.group=${quoted(whole.slice(dot + 1))}`);
    if (part) terms.push(`request.subresource=${quoted(part)}`);
  }
  if (outcome) terms.push(outcome);
  return terms.join(",");
}

// The question of a decision, for the form of "May they?".
export function questionOf(d) {
  const {verb, namespace = "", name = ""} = d.request;
  return new URLSearchParams({user: d.user, groups: asWords(d.groups ?? []), verb, target: targetOf(d.request), namespace, name, acting: "", object: "", oldObject: "", ask: "1"});
}

export function happened({api}) {
  const user = textField({label: "User", placeholder: "everybody"});
  const target = suggestField({label: "Resource, or a path with /", source: targets(api), placeholder: "any"});
  const outcomeId = newId("outcome");
  const outcome = h("select", {id: outcomeId}, OUTCOMES.map(([value, words]) => h("option", {value}, words)));
  const state = h("p", {class: "hint", role: "status"});
  const detail = h("div", {"aria-live": "polite"});
  const list = new VirtualList({label: "Decisions, newest first", className: "decisions", pick: (d) => show(d), nearEnd: () => more(), render: (d) => [
    h("span", {class: "kind mono"}, new Date(d.metadata.creationTimestamp).toLocaleTimeString("en-GB")), outcomeMark(MARKS[d.outcome] ?? "no"),
    h("strong", {}, d.user), h("span", {class: "mono"}, shownRequest(d.request))]});
  let round = null, next = "", isReading = false;

  async function read(isFirst) {
    const mine = isFirst ? (round?.abort(), round = new AbortController()) : round;
    isReading = true;
    const query = new URLSearchParams({limit: String(PAGE)}), terms = termsOf({user: user.value, target: target.value, outcome: outcome.value});
    if (terms) query.set("fieldSelector", terms);
    if (!isFirst) query.set("continue", next);
    try {
      const page = await api.get(`${PATH}?${query}`, {signal: mine.signal});
      if (mine !== round) return;
      next = page.metadata?.continue ?? "";
      isReading = false;
      list.set(isFirst ? page.items : list.items.concat(page.items), {keep: !isFirst});
      replace(state, list.items.length ? `${count(list.items.length)}${next ? " and more" : ""}, of this server, since it started or as far as it remembers.` : "None, as far as the server remembers.");
    } catch (error) {
      if (mine !== round || error.name === "AbortError") return;
      isReading = false;
      replace(state);
      replace(detail, failureNotice(error));
    }
  }

  function more() {
    if (next && !isReading) read(false);
  }

  async function begin() {
    if (!await api.mayI("list", "decisions", "access.cardea.dev"))
      return replace(detail, notice("warn", "You may not see what others did", "You need to list decisions.access.cardea.dev. No default role but cluster-admin allows it, because it shows the requests of everybody."));
    replace(detail);
    replace(state, busy("Reading…"));
    await read(true);
  }

  function show(d) {
    const fact = (word, value) => value && [h("dt", {}, word), h("dd", {}, value)];
    const isWhole = !d.truncated;
    replace(detail, section(shownRequest(d.request),
      h("p", {class: `verdict ${MARKS[d.outcome]}`}, outcomeMark(MARKS[d.outcome] ?? "no", true)), d.reason && h("p", {class: "answer"}, d.reason),
      h("dl", {class: "facts"}, fact("When", new Date(d.metadata.creationTimestamp).toLocaleString("en-GB")), fact("User", d.user), fact("Groups", d.groups?.length && chips(d.groups)),
        fact("Sent by", d.impersonator), fact("Answer", `${d.code}`), fact("Conditions", d.conditional && "the object, or the changed fields, decided")),
      isWhole ? h("p", {}, h("a", {href: `#/may?${questionOf(d)}`}, d.outcome === "Allowed" ? "Why may they?" : "Why?"), h("span", {class: "hint"}, " asks the same again, with the policy of now."))
              : h("p", {class: "hint"}, "A name is longer than what the server keeps, so the question cannot be asked again from here.")));
    detail.scrollIntoView({block: "nearest"});
  }

  const form = h("form", {class: "card", on: {submit: (event) => { event.preventDefault(); begin(); }}},
    h("div", {class: "row"}, user.element, target.element, h("div", {class: "field narrow"}, h("label", {for: outcomeId}, "Outcome"), outcome)),
    h("div", {class: "buttons"}, h("button", {type: "submit"}, "Read anew"), state), list.element);
  outcome.addEventListener("change", begin);
  const element = h("div", {}, h("h1", {}, "What happened"), h("p", {class: "lead"}, "The last decisions of this server, newest first. It keeps as many refusals as others, and forgets them when it stops."),
                    h("div", {class: "two wide"}, form, detail));
  let isNew = true;
  return {element, open(query) {
    if (query.has("user")) user.value = query.get("user");
    if (query.has("target")) target.value = query.get("target");
    if (query.has("outcome")) outcome.value = OUTCOMES.find(([, words]) => words === query.get("outcome"))?.[0] ?? "";
    if (isNew || query.toString()) begin();
    isNew = false;
  }};
}
