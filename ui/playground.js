// Expressions of access policies: types, value, cost, and what is left while something is unknown.
import {nameOf} from "./api.js";
import {celText, partsView} from "./cel_text.js";
import {h, replace, settled} from "./dom.js";
import {VirtualList, busy, failureNotice, fixedSource, listed, notice, section, suggestField, textField} from "./parts.js";

const EXAMPLE = "request.userInfo.username == 'alice' && object.spec.storageClassName == 'dev'";
const VARIABLES = "request:\n  verb: create\n  userInfo:\n    username: alice\n    groups: [dev]\nobject:\n  spec:\n    storageClassName: dev\n";
const TOP = ["request", "object", "oldObject", "operation", "options", "namespaceObject", "authorizer"];
const REQUEST = {userInfo: {username: {}, uid: {}, groups: {}, extra: {}}, verb: {}, apiGroup: {}, apiVersion: {}, resource: {}, subresource: {}, namespace: {}, name: {}, path: {}};
const MACROS = ["has(", "all(", "exists(", "exists_one(", "filter(", "map(", "size()", "startsWith(", "endsWith(", "contains(", "matches("];

// The fields of served resources, from the server's own description, read once for each group.
class Fields {
  constructor(api) {
    this.api = api;
    this.documents = new Map();
  }

  async use(r) {
    const path = `/openapi/v3/${r.group ? `apis/${r.group}` : "api"}/${r.version}`;
    if (!this.documents.has(path)) this.documents.set(path, await this.api.get(path));
    this.schemas = this.documents.get(path).components?.schemas ?? {};
    this.root = Object.values(this.schemas).find((s) => (s["x-kubernetes-group-version-kind"] ?? []).some((k) => k.group === r.group && k.version === r.version && k.kind === r.kind));
  }

  // The schema behind a reference.
  resolve(schema) {
    for (let i = 0; schema && i < 8; ++i) {
      const ref = schema.$ref ?? schema.allOf?.[0]?.$ref;
      if (!ref) return schema;
      schema = this.schemas[ref.split("/").pop()];
    }
    return schema;
  }

  // The fields below a path such as ["spec", "template"]; empty when nothing is known.
  below(path) {
    let at = this.resolve(this.root);
    for (const step of path) {
      if (!at) return [];
      at = this.resolve(step === "[]" ? at.items ?? at.additionalProperties : at.properties?.[step] ?? at.additionalProperties);
    }
    return Object.keys(at?.properties ?? {});
  }
}

// The path before the cursor, and what has been typed of its last step: object.spec.re → [["object", "spec"], "re"].
export function pathBefore(text) {
  const whole = /([A-Za-z_][\w.[\]"'*]*)$/.exec(text)?.[1] ?? "";
  const steps = whole.replace(/\[[^\]]*\]/g, ".[]").split(".");
  return [steps.slice(0, -1), steps[steps.length - 1]];
}

export function playground({api}) {
  const fields = new Fields(api);
  const expression = textField({label: "Expression", multiline: true, rows: 4, value: EXAMPLE, hint: "Ctrl+Space suggests; Ctrl+Enter evaluates."});
  const variables = textField({label: "Values, in YAML or JSON", multiline: true, rows: 12, value: VARIABLES, hint: "A variable without a value is unknown."});
  const unknown = textField({label: "Unknown parts", placeholder: "object.spec, object.metadata.labels", hint: "These have no value, whatever stands above."});
  const kinds = api.resources.filter((r) => r.verbs.includes("update"));
  const resource = suggestField({label: "Fields of", source: fixedSource(() => kinds.map(nameOf)), placeholder: "persistentvolumes, deployments.apps",
                                 hint: "Checks object against this resource, and suggests its fields.", onChange: settled(chooseFields, 300)});
  const result = h("div", {"aria-live": "polite"});
  const suggestions = new VirtualList({label: "Suggestions", rowHeight: 28, render: (word) => h("span", {class: "mono"}, word), pick: (word) => insert(word)});
  const popup = h("div", {class: "popup", hidden: true}, suggestions.element);
  expression.element.classList.add("suggest");
  expression.element.append(popup);
  let round = null;

  const chosen = () => kinds.find((r) => nameOf(r) === resource.value);
  async function chooseFields() {
    const r = chosen();
    fields.root = undefined;
    if (!r) return;
    try {
      await fields.use(r);
    } catch (error) {
      replace(result, failureNotice(error, "Suggestions do without the fields."));
    }
  }

  function words() {
    const [path, start] = pathBefore(expression.input.value.slice(0, expression.input.selectionStart));
    let all = TOP;
    if (path.length) {
      if (path[0] === "object" || path[0] === "oldObject") all = fields.root ? fields.below(path.slice(1)) : ["apiVersion", "kind", "metadata", "spec", "status"].slice(0, path.length === 1 ? 5 : 0);
      else if (path[0] === "request") all = Object.keys(path.slice(1).reduce((at, step) => at?.[step], REQUEST) ?? {});
      else all = [];
      all = [...all, ...MACROS.slice(6)];
    } else {
      all = [...TOP, ...MACROS.slice(0, 1)];
    }
    return [all.filter((w) => w.toLowerCase().startsWith(start.toLowerCase()) && w !== start), start];
  }

  function suggest(isAsked) {
    const [fit, start] = words();
    popup.hidden = !fit.length || !isAsked && !start && !expression.input.value.slice(0, expression.input.selectionStart).endsWith(".");
    if (!popup.hidden) {
      suggestions.set(fit);
      suggestions.move(0);
    }
  }

  function insert(word) {
    const {input} = expression, at = input.selectionStart, [, start] = words();
    input.setRangeText(word, at - start.length, at, "end");
    popup.hidden = true;
    input.focus();
  }

  expression.input.addEventListener("input", () => suggest(false));
  expression.input.addEventListener("blur", () => setTimeout(() => { popup.hidden = true; }, 200));
  expression.input.addEventListener("keydown", (event) => {
    if (event.key === " " && event.ctrlKey) suggest(true);
    else if (event.key === "Enter" && event.ctrlKey) evaluate();
    else if (popup.hidden) return;
    else if (event.key === "ArrowDown") suggestions.move(suggestions.active + 1);
    else if (event.key === "ArrowUp") suggestions.move(suggestions.active - 1);
    else if ((event.key === "Enter" || event.key === "Tab") && suggestions.active >= 0) insert(suggestions.items[suggestions.active]);
    else if (event.key === "Escape") popup.hidden = true;
    else return;
    event.preventDefault();
  });

  async function evaluate() {
    if (!expression.value.trim()) return replace(result, notice("bad", "An expression is missing", "Enter one."));
    round?.abort();
    const mine = round = new AbortController();
    replace(result, busy("Evaluating…"));
    try {
      const r = chosen();
      const spec = {expression: expression.value, unknown: listed(unknown.value), resource: r && {group: r.group, version: r.version, resource: r.resource}};
      const status = await api.reviewWithYaml("expressionreviews", "ExpressionReview", spec, {variables: variables.value}, {signal: mine.signal});
      if (mine === round) show(status);
    } catch (error) {
      if (mine !== round || error.name === "AbortError") return;
      replace(result, failureNotice(error, error.status === 403 ? "You need to create expressionreviews.access.cardea.dev." : ""));
    }
  }

  function show(status) {
    if (status.outcome === "Invalid") return replace(result, notice("bad", "It does not compile", h("pre", {class: "yaml", tabindex: "0"}, status.value)));
    const title = {True: "true", False: "false", Value: "A value", Error: "It fails", Unknown: "What is left"}[status.outcome];
    replace(result,
      section(title, status.outcome === "Error" ? h("pre", {class: "yaml", tabindex: "0"}, status.value) : celText(status.value ?? ""),
        h("dl", {class: "facts"}, h("dt", {}, "Type"), h("dd", {class: "mono"}, status.type ?? ""),
          status.cost !== undefined && [h("dt", {}, "Cost"), h("dd", {class: "mono"}, `${status.cost.toLocaleString("en")} of 1,000,000`)])),
      status.typeProblem && notice("warn", `It does not fit the fields of ${resource.value}`, h("pre", {class: "yaml", tabindex: "0"}, status.typeProblem)),
      status.parts?.length > 1 && section("Part by part", partsView(status.parts)));
  }

  const form = h("form", {class: "card", on: {submit: (event) => { event.preventDefault(); evaluate(); }}},
    expression.element, variables.element, unknown.element, resource.element, h("div", {class: "buttons"}, h("button", {type: "submit"}, "Evaluate")));
  const element = h("div", {}, h("h1", {}, "Expressions"), h("p", {class: "lead"}, "Try the CEL of an access policy: its types, its value part by part, its cost, and the condition that is left while the object is unknown."),
                    h("div", {class: "two even"}, form, result));
  return {element, open(query) {
    if (query.has("expression")) expression.value = query.get("expression");
  }};
}
