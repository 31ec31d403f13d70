// Try a change: who would gain and who would lose what, before anything is written.
import {attributesOf, outcome, pathOf} from "./api.js";
import {h, newId, replace} from "./dom.js";
import {VirtualList, busy, count, failureNotice, namespaceSource, notice, section, suggestField, textField} from "./parts.js";

const RBAC = {group: "rbac.authorization.k8s.io", version: "v1"}, ACCESS = {group: "access.cardea.dev", version: "v1alpha1"};
const KINDS = [
  {kind: "ClusterRole", resource: "clusterroles", ...RBAC},
  {kind: "Role", resource: "roles", namespaced: true, ...RBAC},
  {kind: "ClusterRoleBinding", resource: "clusterrolebindings", ...RBAC},
  {kind: "RoleBinding", resource: "rolebindings", namespaced: true, ...RBAC},
  {kind: "ClusterAccessPolicy", resource: "clusteraccesspolicies", ...ACCESS},
  {kind: "AccessPolicy", resource: "accesspolicies", namespaced: true, ...ACCESS},
];
const MOST_QUESTIONS = 2000;  // about which it is asked whether they change anything

const bindingKinds = ["ClusterRoleBinding", "RoleBinding"];

// What an object gives: each subject with each question of its rules. A question is {verb, target, namespace, name}.
function* gifts(subjects, rules, namespace) {
  for (const s of subjects)
    for (const r of rules) {
      const targets = r.nonResourceURLs?.length ? r.nonResourceURLs.map((path) => ({path}))
        : (r.apiGroups ?? []).flatMap((group) => (r.resources ?? []).map((resource) => ({group, resource})));
      for (const target of targets)
        for (const verb of r.verbs ?? [])
          for (const name of r.resourceNames?.length ? r.resourceNames : [""]) yield {subject: s, verb, ...target, namespace: target.path ? "" : namespace, name};
    }
}

const keyOf = (g) => JSON.stringify([g.subject.kind, g.subject.namespace ?? "", g.subject.name, g.verb, g.group ?? "", g.resource ?? "", g.path ?? "", g.namespace, g.name]);
const shownSubject = (s) => `${s.kind} ${s.namespace ? `${s.namespace}/` : ""}${s.name}`;
const shownGift = (g) => `${g.verb} ${g.path ?? (g.group ? `${g.resource}.${g.group}` : g.resource)}${g.name ? `/${g.name}` : ""}${g.namespace ? ` in ${g.namespace}` : ""}`;

function asUser(s) {
  if (s.kind === "Group") return {groups: [s.name, "system:authenticated"]};
  if (s.kind === "ServiceAccount")
    return {user: `system:serviceaccount:${s.namespace}:${s.name}`, groups: ["system:serviceaccounts", `system:serviceaccounts:${s.namespace}`, "system:authenticated"]};
  return {user: s.name, groups: ["system:authenticated"]};
}

export function change({api}) {
  const kinds = KINDS.filter((k) => api.serves(k.resource, k.group));
  const kindId = newId("kind");
  const kind = h("select", {id: kindId, on: {change: () => { place.element.hidden = !chosen().namespaced; }}}, kinds.map((k) => h("option", {value: k.kind}, k.kind)));
  const place = suggestField({label: "Namespace", source: namespaceSource(api)});
  const name = textField({label: "Name", placeholder: "of an object that exists, or of a new one"});
  const text = textField({label: "The object, in YAML or JSON", multiline: true, rows: 20});
  const result = h("div", {"aria-live": "polite"});
  const chosen = () => kinds.find((k) => k.kind === kind.value);
  let round = null;
  place.element.hidden = true;

  const collection = () => pathOf(chosen(), chosen().namespaced ? place.value : "");
  const missing = () => (!name.value ? "Enter the name." : chosen().namespaced && !place.value ? "Enter the namespace." : "");

  const existing = (signal) => api.find(chosen(), chosen().namespaced ? place.value : "", name.value, {signal});

  // Runs one step at a time; a newer one ends it, and a failure is shown where the result would be.
  async function step(words, run) {
    if (missing()) return replace(result, notice("bad", "Something is missing", missing()));
    round?.abort();
    const mine = round = new AbortController();
    replace(result, busy(words));
    try {
      const shown = await run(mine.signal);
      if (mine === round) replace(result, shown);
    } catch (error) {
      if (mine === round && error.name !== "AbortError") replace(result, failureNotice(error, "Nothing was changed."));
    }
  }

  const load = () => step("Reading…", async (signal) => {
    const object = await existing(signal);
    if (!object) return notice("warn", "It does not exist", "Write it on the left; the change would create it.");
    delete object.metadata.managedFields;
    text.value = asYaml(object);
    return h("p", {class: "soft"}, "Change it, then ask what would change.");
  });

  // The object as the server would store it. Nothing is written by a dry run.
  async function send(isDry, old, signal) {
    const query = `?fieldManager=cardea-ui&fieldValidation=Strict${isDry ? "&dryRun=All" : ""}`;
    const type = "application/yaml";
    return old ? api.send("PUT", `${collection()}/${encodeURIComponent(name.value)}${query}`, {body: text.value, type, signal})
               : api.send("POST", `${collection()}${query}`, {body: text.value, type, signal});
  }

  // [{subjects, rules, namespace}] of an object: a role gives its rules to whoever is bound to it.
  async function parts(k, object, signal) {
    if (!object) return [];
    const namespace = object.metadata.namespace ?? "";
    if (k.kind.endsWith("AccessPolicy")) return [{subjects: object.spec.subjects ?? [{kind: "Group", name: "system:authenticated"}], rules: object.spec.rules ?? [], namespace}];
    if (bindingKinds.includes(k.kind)) {
      const role = KINDS.find((r) => r.kind === object.roleRef.kind);
      const found = await api.find(role, role.namespaced ? namespace : "", object.roleRef.name, {signal});
      return [{subjects: object.subjects ?? [], rules: found?.rules ?? [], namespace}];
    }
    const out = [];
    for (const other of bindingKinds.map((b) => KINDS.find((x) => x.kind === b)).filter((b) => k.kind === "ClusterRole" || b.namespaced))
      for await (const page of api.pages(pathOf(other, k.namespaced ? namespace : ""), {whole: true, signal}))
        for (const b of page.items)
          if (b.roleRef.kind === k.kind && b.roleRef.name === object.metadata.name) out.push({subjects: b.subjects ?? [], rules: object.rules ?? [], namespace: b.metadata.namespace ?? "", binding: b.metadata.name});
    return out;
  }

  const giftsOf = (list) => new Map(list.flatMap((p) => [...gifts(p.subjects, p.rules, p.namespace)]).map((g) => [keyOf(g), g]));

  async function current(list, signal) {
    if (!list.length) return [];
    const items = list.map((g) => ({...asUser(g.subject), ...attributesOf(api, {verb: g.verb, target: g.path ?? (g.group ? `${g.resource}.${g.group}` : g.resource), namespace: g.namespace, name: g.name})}));
    const out = [];
    for (let at = 0; at < items.length; at += 1000) {
      const review = await api.review("access.cardea.dev", "v1alpha1", "batchsubjectaccessreviews", "BatchSubjectAccessReview",
                                      {items: items.slice(at, at + 1000), conditionalAuthorization: {mode: "HumanReadable"}}, {signal});
      out.push(...review.status.items);
    }
    return out;
  }

  // Whether something else than the changed object gives it too.
  async function isHeldOtherwise(g, k, old, known, signal) {
    const question = attributesOf(api, {verb: g.verb, target: g.path ?? (g.group ? `${g.resource}.${g.group}` : g.resource), namespace: g.namespace, name: g.name});
    const key = JSON.stringify(question);
    if (!known.has(key)) known.set(key, (await api.review("access.cardea.dev", "v1alpha1", "resourceaccessreviews", "ResourceAccessReview", question, {signal})).status.subjects ?? []);
    const subject = known.get(key).find((s) => s.kind === g.subject.kind && s.name === g.subject.name && (s.namespace ?? "") === (g.subject.namespace ?? ""));
    return (subject?.via ?? []).some((via) => {
      const isChangedObject = via.binding.kind === k.kind && via.binding.name === old.metadata.name && (via.binding.namespace ?? "") === (old.metadata.namespace ?? "");
      const isChangedRole = via.role?.kind === k.kind && via.role.name === old.metadata.name && (k.kind !== "Role" || via.role.namespace === old.metadata.namespace);
      return !isChangedObject && !isChangedRole;
    });
  }

  const compare = () => step("Trying it…", async (signal) => {
    for (const review of ["batchsubjectaccessreviews", "resourceaccessreviews"])
      if (!await api.canReview(review)) return notice("warn", "You may not ask about others", `You need to create ${review}.access.cardea.dev to see what would change.`);
    const k = chosen(), old = await existing(signal), next = await send(true, old, signal);
    const isDenial = (o) => o?.spec?.effect === "Deny";
    const before = giftsOf(await parts(k, old, signal)), after = giftsOf(await parts(k, next, signal));
    let added = [...after.values()].filter((g) => !before.has(keyOf(g))), removed = [...before.values()].filter((g) => !after.has(keyOf(g)));
    const condition = next.spec?.expression ?? "", isRewritten = k.kind.endsWith("AccessPolicy") && old && (old.spec.effect !== next.spec.effect || (old.spec.expression ?? "") !== condition);
    if (isRewritten) [added, removed] = [[...after.values()], [...before.values()].filter((g) => !after.has(keyOf(g)))];
    const all = added.length + removed.length, isCut = all > MOST_QUESTIONS;
    added = added.slice(0, MOST_QUESTIONS);
    removed = removed.slice(0, Math.max(0, MOST_QUESTIONS - added.length));
    const now = await current([...added, ...removed], signal);
    const gains = [], losses = [], known = new Map();
    added.forEach((g, i) => {
      const word = outcome(now[i]);
      if (isDenial(next)) { if (word === "yes" || word === "if") losses.push({...g, note: condition ? "if the condition holds" : ""}); }
      else if (word !== "yes") gains.push({...g, note: word === "denied" ? "still denied by something else" : condition ? "if the condition holds" : ""});
    });
    for (const [i, g] of removed.entries()) {
      const word = outcome(now[added.length + i]);
      if (isDenial(old)) { if (word !== "yes") gains.push({...g, note: "if something else allows it"}); }
      else if ((word === "yes" || word === "if") && !await isHeldOtherwise(g, k, old, known, signal)) losses.push({...g, note: ""});
    }
    return [
      isRewritten && notice("warn", "The policy decides differently", "Its effect or its expression changes; everything that it names is listed below."),
      isCut && notice("warn", "There are more", `${count(all)} permissions change; the first ${count(MOST_QUESTIONS)} were looked at.`),
      listOf("Gains", gains, "Nobody gains anything."), listOf("Losses", losses, "Nobody loses anything."),
      h("p", {class: "hint"}, `${old ? "It exists and would be changed." : "It does not exist and would be created."} ${count(all - gains.length - losses.length)} of ${count(all)} named permissions change nothing. Groups stand for their members.`),
      h("div", {class: "buttons"}, h("button", {type: "button", on: {click: () => apply(old)}}, "Apply"))];
  });

  const apply = (old) => step("Applying…", async (signal) => {
    const stored = await send(false, old, signal);
    return notice("good", "Applied", `${stored.kind} ${stored.metadata.name} is stored.`);
  });

  function listOf(title, list, none) {
    if (!list.length) return section(`${title}: none`, h("p", {}, none));
    const view = new VirtualList({label: title, rowHeight: 34, render: (g) => [h("strong", {}, shownSubject(g.subject)), h("span", {class: "mono"}, shownGift(g)), h("span", {class: "tail"}, g.note)]});
    view.element.style.height = `${Math.min(8, list.length) * 34 + 2}px`;
    view.set(list);
    return section(`${title}: ${count(list.length)}`, view.element);
  }

  const form = h("form", {class: "card", on: {submit: (event) => { event.preventDefault(); compare(); }}},
    h("div", {class: "row"}, h("div", {class: "field"}, h("label", {for: kindId}, "Kind"), kind), name.element), place.element,
    h("p", {class: "buttons"}, h("button", {type: "button", class: "quiet", on: {click: load}}, "Load")), text.element,
    h("div", {class: "buttons"}, h("button", {type: "submit"}, "What would change?")));
  const element = h("div", {}, h("h1", {}, "Try a change"), h("p", {class: "lead"}, "Edit a role, a binding or a policy, and see who would gain and who would lose what. Nothing is written before you apply it."),
                    h("div", {class: "two even"}, form, result));
  return {element};
}

// An object as YAML. Texts are quoted as JSON unless they are plain words.
export function asYaml(value, indent = "") {
  const scalar = (v) => (typeof v === "string" && /^[A-Za-z][\w./-]*$/.test(v) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(v) ? v : JSON.stringify(v));
  const isNest = (v) => v && typeof v === "object" && Object.keys(v).length > 0;
  if (Array.isArray(value)) return value.map((v) => (isNest(v) ? `${indent}- ${asYaml(v, `${indent}  `).slice(indent.length + 2)}` : `${indent}- ${scalar(v)}\n`)).join("");
  return Object.entries(value).map(([key, v]) => (isNest(v) ? `${indent}${scalar(key)}:\n${asYaml(v, Array.isArray(v) ? indent : `${indent}  `)}` : `${indent}${scalar(key)}: ${scalar(v)}\n`)).join("");
}
