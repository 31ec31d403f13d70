// Access policies that may deny a request: as far as the viewer may list policies.
import {pathOf} from "./api.js";

const CLUSTER = {group: "access.cardea.dev", version: "v1alpha1", resource: "clusteraccesspolicies"};
const NAMESPACED = {group: "access.cardea.dev", version: "v1alpha1", resource: "accesspolicies"};
// A denial of the verb on the right covers the one on the left.
const COVERED_BY = {patch: ["update"], deletecollection: ["delete"], list: ["get"], watch: ["list", "get"]};

const has = (list, ...words) => (list ?? []).some((entry) => entry === "*" || words.includes(entry));

const isEviction = (r) => r?.resource === "pods" && r.subresource === "eviction" && r.verb === "create";

// Whether a rule of a denial is about the question, {resourceAttributes} or {nonResourceAttributes}.
export function isAbout(rule, {resourceAttributes: r, nonResourceAttributes: n}) {
  const {verb} = r ?? n;
  if (isEviction(r) && isAbout(rule, {resourceAttributes: {...r, verb: "delete", subresource: ""}})) return true;
  if (!has(rule.verbs, verb, ...(COVERED_BY[verb] ?? []))) return false;
  if (n) return (rule.nonResourceURLs ?? []).some((url) => url === n.path || url.endsWith("*") && n.path.startsWith(url.slice(0, -1)));
  const names = r.subresource ? [`${r.resource}/${r.subresource}`, `${r.resource}/*`, `*/${r.subresource}`, r.resource] : [r.resource];
  return has(rule.apiGroups, r.group ?? "") && has(rule.resources, ...names)
    && (!rule.resourceNames?.length || !r.name || rule.resourceNames.includes(r.name));
}

// {policies, unread}: policies that may deny the question, and the resources that the viewer may not list.
export async function denials(api, question, signal) {
  const namespace = question.resourceAttributes?.namespace ?? "";
  const policies = [], unread = [];
  for (const [resource, place] of [[CLUSTER, ""], ...(namespace ? [[NAMESPACED, namespace]] : [])]) {
    if (!api.serves(resource.resource, resource.group)) continue;
    if (!await api.mayI("list", resource.resource, resource.group, place)) {
      unread.push(`${resource.resource}.${resource.group}`);
      continue;
    }
    for await (const page of api.pages(pathOf(resource, place), {whole: true, signal}))
      policies.push(...page.items.filter((p) => p.spec?.effect === "Deny" && (!p.spec.rules?.length || p.spec.rules.some((rule) => isAbout(rule, question)))));
  }
  return {policies, unread};
}
