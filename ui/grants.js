// What does this role, binding or policy give? Subject → binding → role → rule, with the rules that give nothing marked.
import {Failure, nameOf, pathOf} from "./api.js";
import {celText} from "./cel_text.js";
import {h, newId, replace, settled} from "./dom.js";
import {drawGraph} from "./graph.js";
import {VirtualList, busy, chips, count, failureNotice, namespaceSource, notice, section, suggestField, textField} from "./parts.js";

const RBAC = {group: "rbac.authorization.k8s.io", version: "v1"}, ACCESS = {group: "access.cardea.dev", version: "v1alpha1"};
const DOCUMENTS = {group: "authorization.openshift.io", version: "v1beta3", namespaced: true};
const KINDS = [
  {kind: "ClusterRole", title: "Cluster roles", resource: "clusterroles", ...RBAC},
  {kind: "Role", title: "Roles", resource: "roles", namespaced: true, ...RBAC},
  {kind: "ClusterRoleBinding", title: "Cluster bindings", resource: "clusterrolebindings", ...RBAC},
  {kind: "RoleBinding", title: "Bindings", resource: "rolebindings", namespaced: true, ...RBAC},
  {kind: "ClusterAccessPolicy", title: "Cluster policies", resource: "clusteraccesspolicies", ...ACCESS},
  {kind: "AccessPolicy", title: "Policies", resource: "accesspolicies", namespaced: true, ...ACCESS},
  {kind: "Document Role", title: "Document roles", resource: "roles", ...DOCUMENTS},
  {kind: "Document RoleBinding", title: "Document bindings", resource: "rolebindings", ...DOCUMENTS},
];
const isDocument = (which) => kindOf(which).group === DOCUMENTS.group;
const kindOf = (name) => KINDS.find((k) => k.kind === name);
const MOST_NODES = 40;  // of one column

const shownName = (m) => (m.namespace ? `${m.namespace}/${m.name}` : m.name);

const has = (list, word) => list?.includes("*") || list?.includes(word);
const covers = (wide, narrow) => (narrow ?? []).every((word) => has(wide, word));

// Whether all that `narrow` gives is given by `wide` too.
export function isCovered(wide, narrow) {
  if (narrow.nonResourceURLs?.length)
    return covers(wide.verbs, narrow.verbs) && narrow.nonResourceURLs.every((url) => (wide.nonResourceURLs ?? []).some((w) => w === "*" || w === url || w.endsWith("*") && url.startsWith(w.slice(0, -1))));
  if (!narrow.resources?.length || !wide.resources?.length) return false;
  const names = !wide.resourceNames?.length || (narrow.resourceNames?.length && narrow.resourceNames.every((n) => wide.resourceNames.includes(n)));
  return names && covers(wide.verbs, narrow.verbs) && covers(wide.apiGroups, narrow.apiGroups) && covers(wide.resources, narrow.resources);
}

// Why a rule gives nothing; empty when it gives something.
export function idleness(api, rules, index, denials = []) {
  const rule = rules[index];
  const wider = rules.findIndex((other, i) => i !== index && isCovered(other, rule) && (!isCovered(rule, other) || i < index));
  if (wider >= 0) return `shadowed: rule ${wider + 1} gives all of it`;
  const denier = denials.find((p) => (p.spec.rules ?? []).length ? p.spec.rules.some((r) => isCovered(r, rule)) : true);
  if (denier) return `shadowed: ${denier.metadata.name} denies it to everybody`;
  if (rule.nonResourceURLs?.length || !rule.resources?.length) return "";
  const known = rule.resources.some((word) => {
    const [resource, sub] = word.split("/", 2);
    return api.resources.some((r) => (resource === "*" || r.resource === resource) && has(rule.apiGroups, r.group) && (!sub || sub === "*" || r.subresources.some((s) => s.name === sub)))
      || word === "*" || resource === "*";
  });
  return known ? "" : "unused: this server does not serve these resources";
}

// Roles and bindings of namespace policy, in the words of the others.
export function fromDocument(object) {
  const {name, namespace} = object.roleRef ?? {};
  return {...object,
    ...(object.roleRef && {roleRef: {kind: "Document Role", name, namespace},
      subjects: [...(object.userNames ?? []).map((n) => ({kind: "User", name: n})), ...(object.groupNames ?? []).map((n) => ({kind: "Group", name: n}))]}),
    ...(object.rules && {rules: object.rules.map(({resourceKinds, apiGroups, ...rest}) => ({...rest, resources: resourceKinds, apiGroups: apiGroups?.length ? apiGroups : ["*"]}))})};
}

// What a rule says beside verbs and resources.
const remarkOf = (rule) => [rule.deny && "denies", rule.attributeRestrictions && `if ${JSON.stringify(rule.attributeRestrictions)}`, rule.description].filter(Boolean).join(" · ");

const shownRule = (r) => `${(r.verbs ?? []).join(", ")} · ${(r.resources ?? r.nonResourceURLs ?? ["everything"]).join(", ")}`;
const ruleGroup = (r) => (r.nonResourceURLs ? "paths" : (r.apiGroups ?? ["*"]).map((g) => g || "core").join(", ")) + (r.resourceNames?.length ? ` · ${r.resourceNames.join(", ")}` : "");
const shownSubject = (s) => (s.namespace ? `${s.namespace}/${s.name}` : s.name);

export function grants({api}) {
  const kinds = KINDS.filter((k) => api.serves(k.resource, k.group));
  let kind = kinds[0], items = [], chosen = null, reading = null, round = null;
  const cache = new Map();  // lists of whole bindings and policies, read once
  const state = h("p", {class: "hint", role: "status"});
  const result = h("div", {"aria-live": "polite"}, h("p", {class: "soft"}, "Choose one on the left."));
  const filter = textField({label: "Filter", placeholder: "part of a name"});
  const place = suggestField({label: "Namespace", source: namespaceSource(api), placeholder: "all namespaces", onChange: settled(() => load(), 400)});
  const list = new VirtualList({label: "Roles, bindings and policies", pick: (m) => choose(kind.kind, m), render: (m) => [h("span", {class: "mono"}, shownName(m))]});
  list.element.classList.add("tall");
  const refresh = () => {
    const word = filter.value.toLowerCase();
    list.set(word ? items.filter((m) => shownName(m).toLowerCase().includes(word)) : items, {keep: true});
  };
  filter.input.addEventListener("input", settled(refresh));

  // The names of one kind, page by page; others can be chosen while it goes on.
  async function load() {
    reading?.abort();
    const mine = reading = new AbortController();
    items = [];
    list.set(items);
    replace(state, "Reading…");
    const namespace = kind.namespaced ? place.value : "";
    place.element.hidden = !kind.namespaced;
    try {
      await check("list", kind, namespace);
      for await (const page of api.pages(pathOf(kind, namespace), {signal: mine.signal})) {
        if (mine !== reading) return;
        for (const o of page.items) items.push({name: o.metadata.name, namespace: o.metadata.namespace});
        replace(state, page.remaining ? `${count(items.length)} read, ${count(page.remaining)} to come…` : `${count(items.length)} in all`);
        refresh();
      }
    } catch (error) {
      if (mine === reading && error.name !== "AbortError")
        replace(state, failureNotice(error), items.length > 0 && h("span", {}, `${count(items.length)} were read before.`), h("button", {type: "button", class: "quiet", on: {click: load}}, "Read again"));
    }
  }

  async function check(verb, k, namespace) {
    if (await api.mayI(verb, k.resource, k.group, namespace)) return;
    throw new Failure(403, `You may not ${verb} ${nameOf(k)}${namespace ? ` in ${namespace}` : k.namespaced ? " in all namespaces; choose one" : ""}.`);
  }

  // Whole objects of a kind, for the question who refers to a role.
  async function all(which, namespace, signal) {
    const path = pathOf(kindOf(which), namespace);
    if (cache.has(path)) return cache.get(path);
    await check("list", kindOf(which), namespace);
    const out = [];
    for await (const page of api.pages(path, {whole: true, signal})) {
      out.push(...page.items);
      replace(result, busy(`Reading bindings: ${count(out.length)}${page.remaining ? ` of ${count(out.length + page.remaining)}` : ""}…`));
    }
    cache.set(path, out);
    return out;
  }

  // What cannot be read is left out, and named.
  async function optional(gaps, what, read) {
    try {
      return await read();
    } catch (error) {
      if (error.name === "AbortError" || error.status === 0) throw error;
      gaps.push(`${what}: ${error.message}`);
      return null;
    }
  }

  async function find(which, namespace, name, signal) {
    const object = await api.find(kindOf(which), namespace, name, {signal});
    return object && isDocument(which) ? fromDocument(object) : object;
  }

  async function choose(which, meta) {
    chosen = {which, meta};
    round?.abort();
    const mine = round = new AbortController(), signal = mine.signal;
    replace(result, busy(`Reading ${shownName(meta)}…`));
    try {
      await check("get", kindOf(which), meta.namespace ?? "");
      const object = await find(which, meta.namespace, meta.name, signal);
      if (!object) throw new Failure(404, `${which} ${shownName(meta)} does not exist any more.`);
      const gaps = [];
      const denials = api.serves("clusteraccesspolicies", "access.cardea.dev")
        ? ((await optional(gaps, "access policies", () => all("ClusterAccessPolicy", "", signal))) ?? [])
            .filter((p) => p.spec?.effect === "Deny" && !p.spec.expression && !p.spec.subjects?.length) : [];
      let bindings = [], role = null, policy = null;
      if (which.endsWith("AccessPolicy")) {
        policy = object;
      } else if (which.endsWith("RoleBinding")) {
        bindings = [object];
        const ref = object.roleRef;
        const home = ref.namespace ?? (ref.kind === "Role" ? meta.namespace : "");
        role = await optional(gaps, `${ref.kind} ${ref.name}`, () => find(ref.kind, home, ref.name, signal));
      } else if (isDocument(which)) {
        role = object;
        const place = await api.mayI("list", "rolebindings", DOCUMENTS.group) ? "" : meta.namespace;  // roles of the master namespace are bound anywhere
        bindings = ((await optional(gaps, "bindings", () => all("Document RoleBinding", place, signal))) ?? []).map(fromDocument)
          .filter((b) => b.roleRef.name === meta.name && b.roleRef.namespace === meta.namespace);
      } else {
        role = object;
        const refers = (b) => b.roleRef.kind === which && b.roleRef.name === meta.name;
        const inSpaces = (await optional(gaps, "role bindings", () => all("RoleBinding", meta.namespace ?? "", signal))) ?? [];
        const inCluster = which === "ClusterRole" ? (await optional(gaps, "cluster role bindings", () => all("ClusterRoleBinding", "", signal))) ?? [] : [];
        bindings = [...inCluster, ...inSpaces].filter(refers);
      }
      if (mine !== round) return;
      show(which, meta, {role, bindings, policy, denials, gaps, object});
    } catch (error) {
      if (mine !== round || error.name === "AbortError") return;
      replace(result, failureNotice(error), h("button", {type: "button", on: {click: () => choose(which, meta)}}, "Try again"));
    }
  }

  function show(which, meta, {role, bindings, policy, denials, gaps, object}) {
    const nodes = new Map(), edges = [], rules = (policy ? policy.spec.rules : role?.rules) ?? [];
    const isDeny = policy?.spec.effect === "Deny";
    const put = (id, column, label, sub, tone = "") => {
      if (nodes.has(id)) return id;
      if ([...nodes.values()].filter((n) => n.column === column).length >= MOST_NODES) return null;
      nodes.set(id, {id, column, label, sub, tone});
      return id;
    };
    const link = (a, b) => a && b && edges.push([a, b]);
    const grantor = policy ? put("policy", 1, shownName(meta), `${which} · ${policy.spec.effect ?? "Allow"}`, isDeny ? "deny" : "chosen") : null;
    const roleNode = policy ? null : role ? put("role", 2, shownName(role.metadata), role.metadata.namespace ? "Role" : "ClusterRole", which.endsWith("Binding") ? "" : "chosen")
                                          : put("role", 2, bindings[0]?.roleRef.name ?? "?", "does not exist", "warn");
    const addSubjects = (subjects, to) => {
      for (const s of subjects ?? []) link(put(`s ${s.kind} ${s.namespace ?? ""} ${s.name}`, 0, shownSubject(s), s.kind), to);
    };
    for (const b of bindings) {
      const node = put(`b ${b.metadata.namespace ?? ""} ${b.metadata.name}`, 1, shownName(b.metadata), b.metadata.namespace ? "RoleBinding" : "ClusterRoleBinding", which.endsWith("Binding") ? "chosen" : "");
      if (!node) continue;
      link(node, roleNode);
      addSubjects(b.subjects, node);
    }
    if (policy) {
      if (policy.spec.subjects?.length) addSubjects(policy.spec.subjects, grantor);
      else link(put("everybody", 0, "everybody", "no subjects are named"), grantor);
    }
    const marks = rules.map((r, i) => (isDocument(which) ? remarkOf(r) : idleness(api, rules, i, isDeny ? [] : denials)));
    const toneOf = (r, mark) => (isDeny || r.deny ? "deny" : mark ? "warn" : "yes");
    rules.forEach((r, i) => link(policy ? grantor : roleNode, put(`u ${i}`, 3, shownRule(r), marks[i] || ruleGroup(r), toneOf(r, marks[i]))));
    if (policy && !rules.length) link(grantor, put("u all", 3, "everything", "no rules are named", isDeny ? "deny" : "yes"));
    const subjectCount = new Set(bindings.flatMap((b) => (b.subjects ?? []).map((s) => `${s.kind} ${s.namespace ?? ""} ${s.name}`))).size;
    const isUnbound = !policy && !which.endsWith("Binding") && !bindings.length;
    const hidden = bindings.length > MOST_NODES || subjectCount > MOST_NODES;
    replace(result,
      isUnbound && notice("warn", "Nobody has it", gaps.length ? "No binding that you may read refers to this role." : "No binding refers to this role, so it gives nothing."),
      gaps.length > 0 && notice("warn", "A part could not be read", gaps.map((g) => h("p", {}, g))),
      policy?.spec.expression && section("Only if", celText(policy.spec.expression), policy.spec.description && h("p", {}, policy.spec.description)),
      section(`${which} ${shownName(meta)}`,
        drawGraph({titles: ["Subjects", policy ? "Policy" : "Bindings", "Role", "Rules"], nodes: [...nodes.values()], edges, label: `What ${which} ${shownName(meta)} gives, and to whom`}),
        hidden && h("p", {class: "hint"}, `The picture shows the first ${MOST_NODES} of each sort; ${count(bindings.length)} bindings and ${count(subjectCount)} subjects in all.`)),
      rules.length > 0 && section("Rules", ruleTable(rules, marks)),
      hidden && section("All bindings", bindingList(bindings)),
      object.aggregationRule && section("Aggregation", h("p", {}, "The rules are collected from roles with these labels:"),
        chips((object.aggregationRule.clusterRoleSelectors ?? []).flatMap((s) => Object.entries(s.matchLabels ?? {}).map(([k, v]) => `${k}=${v}`)))));
  }

  function ruleTable(rules, marks) {
    return h("div", {class: "table-frame", tabindex: "0", role: "region", "aria-label": "Rules"}, h("table", {},
      h("thead", {}, h("tr", {}, ["", "Verbs", "Groups", "Resources or paths", "Names", "Remark"].map((t) => h("th", {scope: "col"}, t || h("span", {class: "unseen"}, "Number"))))),
      h("tbody", {}, rules.map((r, i) => h("tr", {}, h("td", {}, i + 1), h("td", {}, chips(r.verbs ?? [])), h("td", {}, chips((r.apiGroups ?? []).map((g) => g || "core"))),
        h("td", {}, chips(r.resources ?? r.nonResourceURLs ?? [])), h("td", {}, chips(r.resourceNames ?? [])), h("td", {}, marks[i] && h("span", {class: "chip if"}, marks[i])))))));
  }

  function bindingList(bindings) {
    const view = new VirtualList({label: "All bindings of this role", pick: (b) => choose(b.roleRef.kind === "Document Role" ? "Document RoleBinding" : b.metadata.namespace ? "RoleBinding" : "ClusterRoleBinding", b.metadata),
      render: (b) => [h("span", {class: "mono"}, shownName(b.metadata)), h("span", {class: "tail"}, (b.subjects ?? []).map(shownSubject).join(", "))]});
    view.set(bindings);
    return view.element;
  }

  const groupName = newId("kind");
  const tabs = h("fieldset", {class: "tabs"}, h("legend", {class: "unseen"}, "Kind"), kinds.map((k, i) => h("label", {},
    h("input", {type: "radio", name: groupName, checked: i === 0, on: {change: () => { kind = k; load(); }}}), k.title)));
  const again = h("button", {type: "button", class: "quiet", on: {click: () => { cache.clear(); load(); if (chosen) choose(chosen.which, chosen.meta); }}}, "Read anew");
  const element = h("div", {}, h("h1", {}, "What is granted"), h("p", {class: "lead"}, "What a role, a binding or a policy gives, and to whom. Rules that give nothing are marked."),
    h("div", {class: "two"}, h("div", {class: "card"}, tabs, place.element, filter.element, list.element, state, h("div", {class: "buttons"}, again)), result));
  load();
  return {element, open(query) {
    if (!query.has("name")) return;
    const which = query.get("kind") ?? "ClusterRole";
    history.replaceState(null, "", "#/grants");
    if (KINDS.some((k) => k.kind === which)) choose(which, {name: query.get("name"), namespace: query.get("namespace") || undefined});
  }};
}
