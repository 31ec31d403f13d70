// Try a change: who would gain and who would lose what, before anything is written.
import {attributesOf, outcome, pathOf} from "./api.js";
import {h, newId, replace} from "./dom.js";
import {MASTER, comesThrough, gifts, keyOf, placeOf, targetOf} from "./gifts.js";
import {fromDocument} from "./grants.js";
import {VirtualList, busy, count, failureNotice, namespaceSource, notice, section, suggestField, textField} from "./parts.js";

const RBAC = {group: "rbac.authorization.k8s.io", version: "v1"}, ACCESS = {group: "access.cardea.dev", version: "v1alpha1"};
const DOCUMENTS = {group: "authorization.openshift.io", version: "v1beta3", namespaced: true, isDocument: true};
const KINDS = [
  {kind: "ClusterRole", object: "ClusterRole", resource: "clusterroles", ...RBAC},
  {kind: "Role", object: "Role", resource: "roles", namespaced: true, ...RBAC},
  {kind: "ClusterRoleBinding", object: "ClusterRoleBinding", resource: "clusterrolebindings", ...RBAC},
  {kind: "RoleBinding", object: "RoleBinding", resource: "rolebindings", namespaced: true, ...RBAC},
  {kind: "ClusterAccessPolicy", object: "ClusterAccessPolicy", resource: "clusteraccesspolicies", ...ACCESS},
  {kind: "AccessPolicy", object: "AccessPolicy", resource: "accesspolicies", namespaced: true, ...ACCESS},
  {kind: "Document Role", object: "Role", resource: "roles", ...DOCUMENTS},
  {kind: "Document RoleBinding", object: "RoleBinding", resource: "rolebindings", ...DOCUMENTS},
  {kind: "Document PolicyBinding", object: "PolicyBinding", resource: "policybindings", ...DOCUMENTS},
];
const kindOf = (name) => KINDS.find((k) => k.kind === name);
const MOST_QUESTIONS = 2000;  // about which it is asked whether they change anything

const bindingKinds = ["ClusterRoleBinding", "RoleBinding"];

const shownSubject = (s) => `${s.kind} ${s.namespace ? `${s.namespace}/` : ""}${s.name}`;
const shownGift = (g) => `${g.verb} ${targetOf(g)}${g.name ? `/${g.name}` : ""}${g.namespace ? ` in ${g.namespace}` : ""}`;

function asUser(s) {
  if (s.kind === "Group") return {groups: [s.name, "system:authenticated"]};
  if (s.kind === "ServiceAccount")
    return {user: `system:serviceaccount:${s.namespace}:${s.name}`, groups: ["system:serviceaccounts", `system:serviceaccounts:${s.namespace}`, "system:authenticated"]};
  return {user: s.name, groups: ["system:authenticated"]};
}

export function change({api}) {
  const kinds = KINDS.filter((k) => api.serves(k.resource, k.group));
  const kindId = newId("kind");
  const kind = h("select", {id: kindId, on: {change: () => { place.element.hidden = !chosen().namespaced; }}}, kinds.map((k) => h("option", {value: k.kind}, k.isDocument ? `${k.object} (policy document)` : k.kind)));
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

  // What an object gives, for gifts(): a role gives its rules to whoever is bound to it.
  async function parts(k, object, signal) {
    if (!object) return [];
    const namespace = object.metadata.namespace ?? "";
    if (k.kind.endsWith("AccessPolicy"))
      return [{subjects: object.spec.subjects ?? [{kind: "Group", name: "system:authenticated"}], rules: object.spec.rules ?? [], namespace, effect: object.spec.effect, condition: object.spec.expression ?? ""}];
    if (k.isDocument) return documentParts(k, fromDocument(object), namespace, signal);
    if (bindingKinds.includes(k.kind)) {
      const role = kindOf(object.roleRef.kind);
      const found = await api.find(role, role.namespaced ? namespace : "", object.roleRef.name, {signal});
      return [{subjects: object.subjects ?? [], rules: found?.rules ?? [], namespace}];
    }
    const out = [];
    for (const other of bindingKinds.map(kindOf).filter((b) => k.kind === "ClusterRole" || b.namespaced))
      for await (const page of api.pages(pathOf(other, k.namespaced ? namespace : ""), {whole: true, signal}))
        for (const b of page.items)
          if (b.roleRef.kind === k.kind && b.roleRef.name === object.metadata.name) out.push({subjects: b.subjects ?? [], rules: object.rules ?? [], namespace: b.metadata.namespace ?? ""});
    return out;
  }

  // Bindings of the master namespace count everywhere, and its roles can be bound in every namespace.
  async function documentParts(k, object, namespace, signal) {
    const where = (place) => (place === MASTER ? "" : place);
    if (k.object === "RoleBinding") {
      const role = await api.find(kindOf("Document Role"), object.roleRef.namespace, object.roleRef.name, {signal});
      return [{subjects: object.subjects, rules: role ? fromDocument(role).rules ?? [] : [], namespace: where(namespace), isDocument: true}];
    }
    const out = [];
    if (k.object === "Role")
      for await (const page of api.pages(pathOf(kindOf("Document RoleBinding"), where(namespace)), {whole: true, signal}))
        for (const b of page.items.map(fromDocument))
          if (b.roleRef.name === object.metadata.name && b.roleRef.namespace === namespace) out.push({subjects: b.subjects, rules: object.rules ?? [], namespace: where(b.metadata.namespace), isDocument: true, binding: placeOf(b.metadata)});
    return out;
  }

  const giftsOf = (list, unknown) => new Map(list.flatMap((p) => [...gifts(p, api, unknown)]).map((g) => [keyOf(g), g]));
  const questionOf = (g) => attributesOf(api, {verb: g.verb, target: targetOf(g), namespace: g.namespace, name: g.name});

  async function current(list, signal) {
    if (!list.length) return [];
    const items = list.map((g) => ({...asUser(g.subject), ...questionOf(g)}));
    const out = [];
    for (let at = 0; at < items.length; at += 1000) {
      const review = await api.review("access.cardea.dev", "v1alpha1", "batchsubjectaccessreviews", "BatchSubjectAccessReview",
                                      {items: items.slice(at, at + 1000), conditionalAuthorization: {mode: "HumanReadable"}}, {signal});
      out.push(...review.status.items);
    }
    return out;
  }

  // Whether something else than the changed object gives it too.
  async function isHeldOtherwise(g, k, old, bindings, known, signal) {
    const question = questionOf(g), key = JSON.stringify(question);
    if (!known.has(key)) known.set(key, (await api.review("access.cardea.dev", "v1alpha1", "resourceaccessreviews", "ResourceAccessReview", question, {signal})).status.subjects ?? []);
    const subject = known.get(key).find((s) => s.kind === g.subject.kind && s.name === g.subject.name && (s.namespace ?? "") === (g.subject.namespace ?? ""));
    return (subject?.via ?? []).some((via) => !comesThrough(via, k, old, bindings));
  }

  const compare = () => step("Trying it…", async (signal) => {
    for (const review of ["batchsubjectaccessreviews", "resourceaccessreviews"])
      if (!await api.canReview(review)) return notice("warn", "You may not ask about others", `You need to create ${review}.access.cardea.dev to see what would change.`);
    const k = chosen(), old = await existing(signal), next = await send(true, old, signal), unknown = new Set();
    const held = await parts(k, old, signal), bindings = new Set(held.map((p) => p.binding));
    const before = giftsOf(held, unknown), after = giftsOf(await parts(k, next, signal), unknown);
    let added = [...after.values()].filter((g) => !before.has(keyOf(g))), removed = [...before.values()].filter((g) => !after.has(keyOf(g)));
    const isRewritten = k.kind.endsWith("AccessPolicy") && old && (old.spec.effect !== next.spec.effect || (old.spec.expression ?? "") !== (next.spec.expression ?? ""));
    const all = added.length + removed.length, isCut = all > MOST_QUESTIONS;
    added = added.slice(0, MOST_QUESTIONS);
    removed = removed.slice(0, Math.max(0, MOST_QUESTIONS - added.length));
    const now = await current([...added, ...removed], signal);
    const stays = new Set([...after.values()].filter((g) => !g.deny && !g.condition).map((g) => keyOf(g)));
    const gains = [], losses = [], known = new Map();
    const may = (word) => word === "yes" || word === "if";
    added.forEach((g, i) => {
      const word = outcome(now[i]), note = g.condition ? (k.isDocument ? `if ${g.condition}` : "if the condition holds") : "";
      if (g.deny) { if (may(word)) losses.push({...g, note}); }
      else if (word !== "yes") gains.push({...g, note: word === "denied" ? "still denied by something else" : note});
    });
    for (const [i, g] of removed.entries()) {
      const word = outcome(now[added.length + i]);
      if (g.deny) { if (word !== "yes") gains.push({...g, note: "if something else allows it"}); }
      else if (may(word) && !stays.has(keyOf({...g, condition: ""})) && !await isHeldOtherwise(g, k, old, bindings, known, signal)) losses.push({...g, note: isRewritten ? "as it was before" : ""});
    }
    return [
      isRewritten && notice("warn", "The policy decides differently", "Its effect or its expression changes; everything that it names is listed below."),
      isCut && notice("warn", "There are more", `${count(all)} permissions change; the first ${count(MOST_QUESTIONS)} were looked at.`),
      unknown.size > 0 && notice("warn", "Not everything was looked at", `This server serves no resource by these names, or they stand for a list: ${[...unknown].slice(0, 20).join(", ")}.`),
      k.object === "PolicyBinding" && notice("good", "It gives nothing by itself", "A PolicyBinding holds bindings, which are objects of their own: try a Document RoleBinding."),
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
