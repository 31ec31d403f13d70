// May they? One question, its answer, and why.
import {attributesOf, outcome} from "./api.js";
import {celText, partsView} from "./cel_text.js";
import {h, replace} from "./dom.js";
import {drawGraph} from "./graph.js";
import {namespaceSource, answerView, asWords, busy, chips, failureNotice, fixedSource, listed, notice, outcomeMark, section, suggestField, targets, textField, verbsOf} from "./parts.js";

// The groups that every user of this name has, beside those that were entered.
function withImplied(user, groups) {
  const out = new Set(groups);
  if (user && user !== "system:anonymous") out.add("system:authenticated");
  const account = /^system:serviceaccount:([^:]+):[^:]+$/.exec(user);
  if (account) out.add("system:serviceaccounts").add(`system:serviceaccounts:${account[1]}`);
  return [...out];
}

const isSubject = (s, user, groups) =>
  s.kind === "User" ? s.name === user : s.kind === "Group" ? groups.includes(s.name) : user === `system:serviceaccount:${s.namespace}:${s.name}`;

const shownRule = (rule) => [rule.verbs?.join(", "), (rule.resources ?? rule.nonResourceURLs)?.join(", ")].filter(Boolean).join(" · ");
const shownReference = (r) => `${r.namespace ? `${r.namespace}/` : ""}${r.name}`;

// Subject → binding → role → rule, for each grant that counts for this user.
function grantGraph(subjects) {
  const nodes = new Map(), edges = [];
  const put = (id, column, label, sub, tone = "") => { nodes.set(id, {id, column, label, sub, tone}); return id; };
  for (const s of subjects)
    for (const via of s.via ?? []) {
      const from = put(`s ${s.kind} ${s.namespace ?? ""} ${s.name}`, 0, s.name, s.kind);
      const binding = put(`b ${via.binding.kind} ${via.binding.namespace ?? ""} ${via.binding.name}`, 1, shownReference(via.binding), via.binding.kind);
      edges.push([from, binding]);
      let last = binding;
      if (via.role) {
        last = put(`r ${via.role.kind} ${via.role.namespace ?? ""} ${via.role.name}`, 2, shownReference(via.role), via.role.kind);
        edges.push([binding, last]);
      }
      if (via.rule) edges.push([last, put(`u ${last} ${JSON.stringify(via.rule)}`, 3, shownRule(via.rule), (via.rule.apiGroups ?? []).join(", ") || "core", via.conditions ? "warn" : "yes")]);
    }
  if (!nodes.size) return null;
  return drawGraph({titles: ["Subject", "Binding or policy", "Role", "Rule"], nodes: [...nodes.values()], edges, label: "Which rule of which role through which binding"});
}

const WORDS = {Allow: "yes", Deny: "denied", NoOpinion: "no", Conditional: "if", NotAsked: "skipped"};

// The status of an explanation in the form of an access review.
function asStatus(explained) {
  const isOpen = explained.answer === "Conditional";
  return {allowed: explained.allowed, denied: explained.answer === "Deny", reason: explained.reason, evaluationError: explained.evaluationError,
          conditionsChain: isOpen ? explained.authorizers.filter((a) => a.conditions) : undefined};
}

function chainView(authorizers) {
  const names = {yes: "allows", denied: "denies", no: "has no opinion", skipped: "is not asked"};
  const conditional = (a) => {
    const effects = new Set((a.conditions ?? []).map((c) => c.effect));
    return `${[effects.has("Allow") && "allows", effects.has("Deny") && "denies"].filter(Boolean).join(" or ") || "decides"}, if…`;
  };
  return h("ol", {class: "chain"}, authorizers.map((a) => {
    const word = WORDS[a.answer] ?? "no";
    const settled = a.settled && WORDS[a.settled];
    return h("li", {class: settled && settled !== "no" ? settled : word}, h("span", {class: "name"}, a.name === "system-privileged-group.authorizer.kubernetes.io" ? "system:masters" : a.name),
      h("span", {}, names[word] ?? conditional(a)), settled && h("div", {}, `and for this object ${names[settled]}`),
      (a.settledReason || a.reason) && h("div", {class: "hint"}, a.settledReason || a.reason), a.evaluationError && h("div", {class: "bad-text"}, a.evaluationError));
  }));
}

function conditionList(authorizer, parts) {
  return [h("h3", {}, `Conditions of ${authorizer.name}`), authorizer.conditions.map((c) => h("div", {class: `condition ${c.effect.toLowerCase()}`},
    h("p", {}, h("strong", {}, {Allow: "Allowed if", Deny: "Denied if", NoOpinion: "Left to the next one if"}[c.effect] ?? c.effect)),
    parts.has(c.condition) ? partsView(parts.get(c.condition).parts ?? []) : c.condition && celText(c.condition),
    c.description && h("p", {}, c.description), h("p", {class: "hint mono"}, c.id)))];
}

const roleLink = (hint) => h("a", {href: `#/grants?${new URLSearchParams({kind: hint.namespace ? "Role" : "ClusterRole", name: hint.role, namespace: hint.namespace ?? ""})}`}, "show the role");

export function may({api, user: viewer}) {
  const user = textField({label: "User", placeholder: "jane, or system:serviceaccount:shop:bot"});
  const groups = textField({label: "Groups", placeholder: "dev ops", hint: "system:authenticated is added."});
  const target = suggestField({label: "Resource, or a path with /", source: targets(api), placeholder: "pods, deployments.apps/scale, /metrics", required: true});
  const verb = suggestField({label: "Verb", source: fixedSource(() => verbsOf(api, target.value)), value: "get", required: true});
  const namespace = suggestField({label: "Namespace", source: namespaceSource(api), placeholder: "the whole cluster"});
  const name = textField({label: "Name", placeholder: "any"});
  const acting = textField({label: "Impersonating", placeholder: "nobody", hint: "Then two things are asked: whether the user may impersonate this one, and what this one may do."});
  const object = textField({label: "Object, in YAML or JSON", multiline: true, rows: 9, placeholder: "spec:\n  storageClassName: dev",
                            hint: "What would be written. With it, conditions are settled."});
  const oldObject = textField({label: "Object before", multiline: true, rows: 4, hint: "For update and delete."});
  const result = h("div", {"aria-live": "polite"});
  const submit = h("button", {type: "submit"}, "Ask");
  let round = null;

  function read() {
    const asked = {user: user.value, groups: withImplied(user.value, listed(groups.value)), verb: verb.value, target: target.value,
                   namespace: namespace.value, name: name.value, acting: acting.value};
    const missing = !asked.user && !listed(groups.value).length ? "a user or a group" : !asked.verb ? "a verb" : !asked.target ? "a resource" : "";
    return {asked, missing};
  }

  async function ask() {
    const {asked, missing} = read();
    if (missing) return replace(result, notice("bad", "Something is missing", `Enter ${missing}.`));
    round?.abort();
    const mine = round = new AbortController(), signal = mine.signal;
    replace(result, busy("Asking…"));
    try {
      const about = {username: asked.acting || asked.user, groups: asked.acting ? withImplied(asked.acting, []) : asked.groups};
      const question = attributesOf(api, asked);
      const first = asked.acting ? await impersonation(asked, signal) : null;
      const spec = {user: about.username, groups: about.groups, ...question};
      const explained = await api.canReview("accessexplanationreviews")
        ? await api.reviewWithYaml("accessexplanationreviews", "AccessExplanationReview", spec, {object: object.value, oldObject: oldObject.value}, {signal}) : null;
      const status = explained ? asStatus(explained) : await plainAnswer(spec, signal);
      const [grants, parts] = await Promise.all([whoCan(question, signal), explained ? conditionParts(explained, spec, signal) : new Map()]);
      if (mine !== round) return;
      show(about, first, status, grants, explained, parts);
    } catch (error) {
      if (mine !== round || error.name === "AbortError") return;
      replace(result, failureNotice(error, error.status === 403 && viewer.username !== asked.user ? "To ask about others, you need to create subjectaccessreviews.authorization.k8s.io." : ""));
    }
  }

  async function impersonation(asked, signal) {
    const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(asked.acting);
    const resourceAttributes = account ? {verb: "impersonate", resource: "serviceaccounts", version: "v1", namespace: account[1], name: account[2]}
                                       : {verb: "impersonate", resource: "users", version: "v1", name: asked.acting};
    const review = await api.review("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview",
                                    {user: asked.user, groups: asked.groups, resourceAttributes}, {signal});
    return review.status;
  }

  // Null where the viewer may not ask.
  async function whoCan(question, signal) {
    if (!await api.canReview("resourceaccessreviews")) return null;
    return (await api.review("access.cardea.dev", "v1alpha1", "resourceaccessreviews", "ResourceAccessReview", question, {signal})).status;
  }

  async function plainAnswer(spec, signal) {
    const review = await api.review("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview",
                                    {...spec, conditionalAuthorization: {mode: "HumanReadable"}}, {signal});
    return review.status;
  }

  // The parts of each condition with their values for the object, by the text of the condition.
  async function conditionParts(explained, spec, signal) {
    const out = new Map();
    if (!object.value.trim() && !oldObject.value.trim() || !await api.canReview("expressionreviews")) return out;
    const texts = explained.authorizers.flatMap((a) => a.conditions ?? []).map((c) => c.condition).filter(Boolean);
    const operation = {create: "CREATE", update: "UPDATE", patch: "UPDATE", delete: "DELETE", deletecollection: "DELETE"}[verb.value] ?? "CONNECT";
    const indented = (text) => text.replace(/^\s*---[ \t]*\r?\n/, "").split(/\r?\n/).map((l) => `  ${l}`).join("\n");
    const variables = [`operation: ${operation}`];
    for (const [key, field] of [["object", object], ["oldObject", oldObject]])
      variables.push(field.value.trim() ? `${key}:\n${indented(field.value)}` : `${key}: null`);
    for (const text of new Set(texts.slice(0, 16)))
      out.set(text, await api.reviewWithYaml("expressionreviews", "ExpressionReview", {expression: text}, {variables: variables.join("\n")}, {signal}));
    return out;
  }

  function show(about, first, status, grants, explained, parts) {
    const counts = (grants?.subjects ?? []).filter((s) => isSubject(s, about.username, about.groups));
    const graph = grantGraph(counts);
    const isRefused = ["no", "denied"].includes(outcome(status));
    const others = (grants?.subjects ?? []).filter((s) => s.kind === "Group" && !about.groups.includes(s.name)).slice(0, 8);
    replace(result,
      first && section(`May ${user.value} impersonate ${acting.value}?`, answerView(first)),
      section(`May ${about.username || about.groups.join(", ")} ${verb.value} ${target.value}${namespace.value ? ` in ${namespace.value}` : ""}?`,
              explained ? [h("p", {class: `verdict ${outcome(status)}`}, outcomeMark(outcome(status), true)), status.reason && h("p", {}, status.reason),
                           status.evaluationError && h("p", {class: "bad-text"}, status.evaluationError)] : answerView(status)),
      explained && section("Who says what", chainView(explained.authorizers), explained.authorizers.filter((a) => a.conditions).map((a) => conditionList(a, parts))),
      graph && section(isRefused ? "What would allow it" : "Through what", graph),
      isRefused && section("Near misses",
        explained?.hints?.length ? h("ul", {}, explained.hints.map((hint) => h("li", {}, hint.text, " ", roleLink(hint)))) : null,
        others.length > 0 && [h("p", {}, "It is allowed to members of:"), chips(others.map((s) => s.name))],
        !others.length && !explained?.hints?.length && h("p", {}, grants || explained ? "No rule comes close to this request." : "You may not ask for them.")));
  }

  const form = h("form", {class: "card", on: {submit: (event) => { event.preventDefault(); ask(); }}},
    user.element, groups.element, target.element, verb.element, namespace.element, name.element,
    h("details", {}, h("summary", {}, "The object"), object.element, oldObject.element),
    h("details", {}, h("summary", {}, "Impersonation"), acting.element),
    h("div", {class: "buttons"}, submit, h("button", {type: "button", class: "quiet", on: {click: () => {
      user.value = viewer.username;
      groups.value = asWords(viewer.groups ?? []);
    }}}, "Fill in me")));
  const element = h("div", {}, h("h1", {}, "May they?"), h("p", {class: "lead"}, "One request of one user: the answer, who gave it, and through which role and binding."),
                    h("div", {class: "two"}, form, result));
  return {element, open(query) {
    for (const [key, field] of Object.entries({user, groups, target, verb, namespace, name, acting, object, oldObject})) if (query.has(key)) field.value = query.get(key);
    if (query.get("ask") === "1") {
      history.replaceState(null, "", "#/may");
      ask();
    }
  }};
}
