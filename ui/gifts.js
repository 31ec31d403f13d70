// What roles, bindings and policies give, one permission at a time, so that before and after can be compared.

export const MASTER = "master";  // whose bindings count in every namespace, unless --policy-master-namespace says otherwise

// The resources that a word of a policy document means: `pods`, `Pod`, `pods/log`. Null: the page does not know it.
function meant(api, word) {
  const [name, part] = word.toLowerCase().split("/", 2);
  const found = api.resources.filter((r) => r.resource === name || r.kind.toLowerCase() === name);
  return found.length ? found.map((r) => ({group: r.group, resource: part ? `${r.resource}/${part}` : r.resource})) : null;
}

// [{group, resource}] of a rule of RBAC or an access policy, or [{path}].
function targetsOf(rule) {
  if (rule.nonResourceURLs?.length) return rule.nonResourceURLs.map((path) => ({path}));
  return (rule.apiGroups ?? []).flatMap((group) => (rule.resources ?? []).map((resource) => ({group, resource})));
}

// The same of a rule of a policy document. `-x` takes x away, and what the page cannot name it leaves out and counts in `unknown`.
export function documentTargets(api, rule, unknown) {
  if (rule.nonResourceURLs?.length) return rule.nonResourceURLs.map((path) => ({path}));
  const words = rule.resources ?? [], without = words.filter((w) => w.startsWith("-")).map((w) => w.slice(1));
  const isGone = (t) => without.some((w) => w === "*" || (meant(api, w) ?? []).some((m) => m.group === t.group && (m.resource === t.resource || t.resource.startsWith(`${m.resource}/`))));
  const has = (list, word) => !list?.length || list.includes("*") || list.includes(word);
  const out = [];
  for (const word of words.filter((w) => !w.startsWith("-"))) {
    const found = word === "*" ? (without.length ? api.resources.map((r) => ({group: r.group, resource: r.resource})) : [{group: "*", resource: "*"}]) : meant(api, word);
    if (!found) unknown.add(word);
    else out.push(...found.filter((t) => (t.group === "*" || has(rule.apiGroups, t.group)) && !isGone(t)));
  }
  return out;
}

const documentVerbs = (rule) => {
  const without = new Set((rule.verbs ?? []).filter((v) => v.startsWith("-")).map((v) => v.slice(1)));
  const all = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
  const given = (rule.verbs ?? []).filter((v) => !v.startsWith("-"));
  return (given.includes("*") && without.size ? all : given).filter((v) => !without.has(v));
};

// Each subject with each permission of `rules`: {subject, verb, group, resource | path, namespace, name, deny, condition}.
export function* gifts({subjects, rules, namespace, isDocument = false, effect = "Allow", condition = ""}, api, unknown) {
  for (const subject of subjects)
    for (const r of rules) {
      const deny = effect === "Deny" || r.deny === true, limit = r.attributeRestrictions ? JSON.stringify(r.attributeRestrictions) : condition;
      for (const target of isDocument ? documentTargets(api, r, unknown) : targetsOf(r))
        for (const verb of isDocument ? documentVerbs(r) : r.verbs ?? [])
          for (const name of r.resourceNames?.length ? r.resourceNames : [""])
            yield {subject, verb, ...target, namespace: target.path ? "" : namespace, name, deny, condition: limit};
    }
}

export const keyOf = (g) => JSON.stringify([g.subject.kind, g.subject.namespace ?? "", g.subject.name, g.verb, g.group ?? "", g.resource ?? "", g.path ?? "", g.namespace, g.name, g.deny, g.condition]);

// "pods.apps/scale" or "/metrics", as questions have it.
export function targetOf(g) {
  if (g.path) return g.path;
  const [resource, part] = g.resource.split("/", 2);
  return `${g.group ? `${resource}.${g.group}` : resource}${part ? `/${part}` : ""}`;
}

// Reviews call the bindings of policy documents RoleBinding, too; their rules tell them apart.
const isOfDocument = (via) => via.binding.kind === "RoleBinding" && Boolean(via.rule?.resourceKinds || via.rule?.nonResourceURLs);
export const placeOf = (metadata) => `${metadata.namespace ?? ""}/${metadata.name}`;

// Whether a grant that a review names comes through this object: `bindings` are the places of those that a changed role of a document has.
export function comesThrough(via, k, old, bindings = new Set()) {
  if (isOfDocument(via) !== Boolean(k.isDocument)) return false;
  if (k.isDocument) return k.object === "Role" ? bindings.has(placeOf(via.binding)) && via.role?.name === old.metadata.name : placeOf(via.binding) === placeOf(old.metadata);
  const is = (reference) => reference?.kind === k.object && placeOf(reference) === placeOf(old.metadata);
  return is(via.binding) || is(via.role);
}
