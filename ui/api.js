// The server's API, with the credentials of whoever looks at the page.

const MOST_ITEMS = 1000;    // of one BatchSubjectAccessReview
const SIDE_BY_SIDE = 12;    // single questions at the same time
const PAGE = 1000;          // of one list request
const MOST_BODY = 3 * 1024 * 1024;  // the server refuses larger bodies
const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

// Why there is no answer. `status` is 0 when the server was not reached.
export class Failure extends Error {
  constructor(status, message, details = {}) {
    super(message);
    this.status = status;
    this.reason = details.reason ?? "";
    this.causes = details.causes ?? [];
  }

  get title() {
    if (this.status === 0) return "The server cannot be reached";
    if (this.status === 401) return "The credentials are not accepted";
    if (this.status === 403) return "You may not ask this";
    if (this.status === 404) return "This server does not know this";
    if (this.status === 413) return "This is too large for the server";
    if (this.status === 422 || this.status === 400) return "The server cannot read this";
    return "The server could not answer";
  }
}

export class Api {
  #token;
  #expired;

  // The token stays in this object. Without one the browser's client certificate counts, if it has one.
  constructor(token, onExpired) {
    this.#token = token;
    this.#expired = onExpired;
    this.resources = [];
    this.served = new Set();
    this.known = new Map();  // what the viewer may do, as far as it was asked
  }

  renew(token) {
    this.#token = token;
  }

  async send(method, path, {body, type = "application/json", accept = "application/json", headers = {}, signal} = {}) {
    const sent = {Accept: accept, ...headers};
    if (this.#token) sent.Authorization = `Bearer ${this.#token}`;
    if (body !== undefined) sent["Content-Type"] = type;
    let text = body;
    if (body !== undefined && typeof body !== "string") text = JSON.stringify(body);
    if (text && text.length > MOST_BODY)
      throw new Failure(413, `${(text.length / 1048576).toFixed(1)} MB were given, and the server takes at most 3 MB. Nothing was sent.`);
    let response, answer;
    try {
      response = await fetch(path, {method, headers: sent, body: text, signal, cache: "no-store", redirect: "error",
                                    credentials: this.#token ? "omit" : "same-origin"});
      answer = await response.text();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Failure(0, "The connection failed or was cut. What you entered is still here; try again when the server is back.");
    }
    let document = null;
    try {
      document = JSON.parse(answer);
    } catch {
      if (response.ok) throw new Failure(response.status, "The answer is not JSON: is this a Kubernetes API?");
    }
    if (response.ok) return document;
    if (response.status === 401) this.#expired?.();
    throw new Failure(response.status, document?.message || answer.slice(0, 500) || `status ${response.status}`,
                      {reason: document?.reason, causes: document?.details?.causes});
  }

  get(path, options) {
    return this.send("GET", path, options);
  }

  review(group, version, resource, kind, spec, options) {
    return this.send("POST", `/apis/${group}/${version}/${resource}`,
                     {body: {apiVersion: `${group}/${version}`, kind, spec}, ...options});
  }

  // The same with parts that are given as YAML, which the server reads: {object: "kind: Pod…"} becomes spec.object.
  async reviewWithYaml(resource, kind, spec, yaml, options) {
    const lines = ["apiVersion: access.cardea.dev/v1alpha1", `kind: ${kind}`, "spec:"];
    for (const [key, value] of Object.entries(spec)) if (value !== undefined) lines.push(`  ${key}: ${JSON.stringify(value)}`);
    for (const [key, text] of Object.entries(yaml)) {
      const body = text.replace(/^\s*---[ \t]*\r?\n/, "");
      if (!body.trim()) continue;
      lines.push(`  ${key}:`, body.split(/\r?\n/).map((line) => (line.trim() ? `    ${line}` : "")).join("\n"));
    }
    const review = await this.send("POST", `/apis/access.cardea.dev/v1alpha1/${resource}`, {body: lines.join("\n"), type: "application/yaml", ...options});
    return review.status;
  }

  async canReview(resource) {
    return this.serves(resource, "access.cardea.dev") && await this.mayI("create", resource, "access.cardea.dev");
  }

  async whoAmI() {
    const review = await this.review("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", undefined);
    return review.status.userInfo;
  }

  // What the server serves: one entry for each resource, in its preferred version.
  async discover() {
    const [core, groups] = await Promise.all([this.get("/api", {accept: DISCOVERY}), this.get("/apis", {accept: DISCOVERY})]);
    const all = [...(core.items ?? []), ...(groups.items ?? [])];
    if (!all.length) throw new Failure(404, "The server does not list its resources in one document; it is too old for this page.");
    this.resources = [];
    this.served = new Set();
    for (const group of all) {
      const known = new Set();
      for (const version of group.versions ?? []) {
        for (const r of version.resources ?? []) {
          this.served.add(`${r.resource}.${group.metadata?.name ?? ""}`);
          if (known.has(r.resource)) continue;
          known.add(r.resource);
          this.resources.push({
            group: group.metadata?.name ?? "", version: version.version, resource: r.resource,
            kind: r.responseKind?.kind ?? "", namespaced: r.scope === "Namespaced", verbs: r.verbs ?? [],
            subresources: (r.subresources ?? []).map((s) => ({name: s.subresource, verbs: s.verbs ?? []})),
          });
        }
      }
    }
    this.resources.sort((a, b) => a.group.localeCompare(b.group) || a.resource.localeCompare(b.resource));
    return this.resources;
  }

  // Whether the viewer may do this, in the whole cluster or in a namespace: asked before what is only tried, so that nothing is refused needlessly.
  async mayI(verb, resource, group = "", namespace = "") {
    const key = `${verb} ${resource}.${group} ${namespace}`;
    if (!this.known.has(key)) {
      const review = await this.review("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview",
                                       {resourceAttributes: {verb, resource, group, ...(namespace && {namespace})}});
      this.known.set(key, review.status.allowed === true);
    }
    return this.known.get(key);
  }

  serves(resource, group) {
    return this.served.has(`${resource}.${group}`);
  }

  // One object, or null. Who may list asks for a list of one: that something does not exist is then no error.
  async find(r, namespace, name, {signal} = {}) {
    const path = pathOf(r, namespace);
    if (await this.mayI("list", r.resource, r.group, namespace)) {
      const list = await this.get(`${path}?${new URLSearchParams({fieldSelector: `metadata.name=${name.replace(/[\\,=]/g, "\\$&")}`})}`, {signal});
      const found = list.items?.find((o) => o.metadata.name === name);
      return found ? {apiVersion: list.apiVersion, kind: list.kind.replace(/List$/, ""), ...found} : null;
    }
    try {
      return await this.get(`${path}/${encodeURIComponent(name)}`, {signal});
    } catch (error) {
      if (error.status === 404) return null;
      throw error;
    }
  }

  // The pages of a list, one after the other. Metadata alone, unless `whole`.
  async *pages(path, {whole = false, signal, limit = PAGE} = {}) {
    let next = "";
    do {
      const query = new URLSearchParams({limit: String(limit)});
      if (next) query.set("continue", next);
      const list = await this.get(`${path}?${query}`, {accept: whole ? "application/json" : METADATA, signal});
      yield {items: list.items ?? [], remaining: list.metadata?.remainingItemCount ?? 0};
      next = list.metadata?.continue ?? "";
    } while (next);
  }

  mayBatch() {
    return this.canReview("batchsubjectaccessreviews");
  }

  // Answers to many questions about one user: {allowed, denied, reason, evaluationError, conditionsChain}, in order. Whoever may
  // not ask many at once, but asks about themselves, gets them one by one.
  async ask(user, items, {isSelf = false, signal, progress} = {}) {
    if (await this.mayBatch()) {
      const out = [];
      for (let at = 0; at < items.length; at += MOST_ITEMS) {
        const spec = {user: user.username, groups: user.groups, uid: user.uid, extra: user.extra,
                      conditionalAuthorization: {mode: "HumanReadable"}, items: items.slice(at, at + MOST_ITEMS)};
        const review = await this.review("access.cardea.dev", "v1alpha1", "batchsubjectaccessreviews", "BatchSubjectAccessReview", spec, {signal});
        out.push(...review.status.items);
        progress?.(out.length, items.length);
      }
      return out;
    }
    const kind = isSelf ? ["selfsubjectaccessreviews", "SelfSubjectAccessReview"] : ["subjectaccessreviews", "SubjectAccessReview"];
    const out = new Array(items.length);
    let next = 0, done = 0;
    const work = async () => {
      while (next < items.length) {
        const i = next++;
        const spec = {...items[i], conditionalAuthorization: {mode: "HumanReadable"}};
        if (!isSelf) Object.assign(spec, {user: user.username, groups: user.groups, uid: user.uid, extra: user.extra});
        const review = await this.review("authorization.k8s.io", "v1", ...kind, spec, {signal});
        out[i] = review.status;
        progress?.(++done, items.length);
      }
    };
    await Promise.all(Array.from({length: Math.min(SIDE_BY_SIDE, items.length)}, work));
    return out;
  }
}

// What one answer says: "yes", "no", "denied" or "if".
export function outcome(status) {
  if (status.allowed === true) return "yes";
  if (status.conditionsChain?.length) return "if";
  return status.denied ? "denied" : "no";
}

// "deployments.apps/scale" or "/metrics" as the attributes of a question.
export function attributesOf(api, {verb, target, namespace, name}) {
  if (target.startsWith("/")) return {nonResourceAttributes: {verb, path: target}};
  const [whole, subresource = ""] = target.split("/", 2);
  const known = api.resources.find((r) => whole === nameOf(r)) ?? api.resources.find((r) => whole === r.resource);
  const dot = whole.indexOf(".");
  const out = known ? {group: known.group, version: known.version, resource: known.resource}
                    : {group: dot < 0 ? "" : whole.slice(dot + 1), resource: dot < 0 ? whole : whole.slice(0, dot)};
  for (const [key, value] of Object.entries({verb, subresource, namespace, name})) if (value) out[key] = value;
  return {resourceAttributes: out};
}

export const nameOf = (r) => (r.group ? `${r.resource}.${r.group}` : r.resource);

export function pathOf(r, namespace = "") {
  const root = r.group ? `/apis/${r.group}/${r.version}` : `/api/${r.version}`;
  return namespace ? `${root}/namespaces/${encodeURIComponent(namespace)}/${r.resource}` : `${root}/${r.resource}`;
}
