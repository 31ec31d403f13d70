// The parts of the page that need no browser. functions.mjs FOLDER, where FOLDER has the files of the page.
import assert from "node:assert/strict";
import {pathToFileURL} from "node:url";

const load = (name) => import(pathToFileURL(`${process.argv[2]}/${name}.js`));
const {fromDocument, idleness, isCovered} = await load("grants");
const {asYaml} = await load("change");
const {pathBefore} = await load("playground");
const {attributesOf, outcome} = await load("api");
const {isAbout} = await load("denials");
const {comesThrough, documentTargets, gifts, targetOf} = await load("gifts");
const {questionOf, termsOf} = await load("happened");
const {asWords, listed} = await load("parts");
globalThis.crypto ??= (await import("node:crypto")).webcrypto;
const {challengeOf, claimsOf} = await load("issuer");

const rule = (verbs, apiGroups, resources, resourceNames) => ({verbs, apiGroups, resources, ...(resourceNames && {resourceNames})});
const pods = rule(["get", "list"], [""], ["pods"]);

// A rule that another one contains.
assert(isCovered(rule(["*"], ["*"], ["*"]), pods));
assert(isCovered(pods, rule(["get"], [""], ["pods"])));
assert(isCovered(pods, rule(["get"], [""], ["pods"], ["a"])));
assert(!isCovered(rule(["get"], [""], ["pods"], ["a"]), rule(["get"], [""], ["pods"])));
assert(!isCovered(pods, rule(["delete"], [""], ["pods"])));
assert(!isCovered(pods, rule(["get"], ["apps"], ["pods"])));
assert(!isCovered(pods, rule(["*"], [""], ["pods"])));
assert(isCovered({verbs: ["get"], nonResourceURLs: ["/healthz/*"]}, {verbs: ["get"], nonResourceURLs: ["/healthz/ping"]}));
assert(!isCovered(rule(["*"], ["*"], ["*"]), {verbs: ["get"], nonResourceURLs: ["/metrics"]}));

// Why a rule gives nothing.
const api = {resources: [{group: "", resource: "pods", version: "v1", subresources: [{name: "log"}]}]};
assert.equal(idleness(api, [pods], 0), "");
assert.match(idleness(api, [pods, rule(["get"], [""], ["pods"])], 1), /rule 1/);
assert.equal(idleness(api, [pods, {...pods}], 0), "", "of two equal rules the first counts");
assert.match(idleness(api, [pods, {...pods}], 1), /rule 1/);
assert.match(idleness(api, [rule(["get"], ["x.example.com"], ["things"])], 0), /unused/);
assert.equal(idleness(api, [rule(["get"], [""], ["pods/log"])], 0), "");
assert.match(idleness(api, [rule(["get"], [""], ["pods/nothing"])], 0), /unused/);
assert.match(idleness(api, [pods], 0, [{metadata: {name: "freeze"}, spec: {rules: [rule(["*"], [""], ["pods"])]}}]), /freeze/);

// Documents of namespace policy in the words of roles and bindings.
assert.deepEqual(fromDocument({rules: [{deny: true, verbs: ["delete"], resourceKinds: ["pods"]}]}).rules,
                 [{deny: true, verbs: ["delete"], resources: ["pods"], apiGroups: ["*"]}]);
assert.deepEqual(fromDocument({roleRef: {name: "r", namespace: "n"}, userNames: ["u"], groupNames: ["g"]}).subjects,
                 [{kind: "User", name: "u"}, {kind: "Group", name: "g"}]);

// A denial is about every way to its effect.
const asked = (verb, resource, more) => ({resourceAttributes: {verb, resource, ...more}});
assert(isAbout(rule(["delete"], [""], ["pods"]), asked("delete", "pods")));
assert(isAbout(rule(["delete"], [""], ["pods"]), asked("deletecollection", "pods")));
assert(isAbout(rule(["delete"], [""], ["pods"]), asked("create", "pods", {subresource: "eviction"})));
assert(isAbout(rule(["get"], [""], ["*"]), asked("watch", "secrets")));
assert(isAbout(rule(["update"], ["*"], ["deployments"]), asked("patch", "deployments", {group: "apps", subresource: "scale"})));
assert(!isAbout(rule(["deletecollection"], [""], ["pods"]), asked("delete", "pods")), "a denial of one way leaves the others");
assert(!isAbout(rule(["delete"], ["apps"], ["pods"]), asked("delete", "pods")));
assert(!isAbout(rule(["delete"], [""], ["pods"], ["a"]), asked("delete", "pods", {name: "b"})));
assert(isAbout(rule(["delete"], [""], ["pods"], ["a"]), asked("delete", "pods")), "one of them may be meant");
assert(isAbout({verbs: ["*"], nonResourceURLs: ["/metrics*"]}, {nonResourceAttributes: {verb: "get", path: "/metrics/slis"}}));
assert(!isAbout(rule(["*"], ["*"], ["*"]), {nonResourceAttributes: {verb: "get", path: "/metrics"}}));

// YAML that reads as what it was made from: what is no plain word is quoted.
assert.equal(asYaml({a: {b: ["x", "*", ""], c: []}, yes: "no", n: 1, t: "a: b"}), 'a:\n  b:\n  - x\n  - "*"\n  - ""\n  c: []\n"yes": "no"\n"n": 1\nt: "a: b"\n');
assert.equal(asYaml([{a: [{b: 1}], c: null}]), "- a:\n  - b: 1\n  c: null\n");

// What stands before the cursor.
assert.deepEqual(pathBefore("object.spec.re"), [["object", "spec"], "re"]);
assert.deepEqual(pathBefore("a && obj"), [[], "obj"]);
assert.deepEqual(pathBefore("object.items[0].na"), [["object", "items", "[]"], "na"]);
assert.deepEqual(pathBefore("1 + "), [[], ""]);

// Questions and answers.
assert.deepEqual(attributesOf(api, {verb: "get", target: "/metrics"}), {nonResourceAttributes: {verb: "get", path: "/metrics"}});
assert.deepEqual(attributesOf(api, {verb: "get", target: "pods/log", namespace: "a"}),
                 {resourceAttributes: {group: "", version: "v1", resource: "pods", verb: "get", subresource: "log", namespace: "a"}});
assert.deepEqual(attributesOf(api, {verb: "get", target: "doors.example.com"}), {resourceAttributes: {group: "example.com", resource: "doors", verb: "get"}});
assert.equal(outcome({}), "no", "an empty answer is no yes");
assert.equal(outcome({denied: true}), "denied");
assert.equal(outcome({conditionsChain: [{}]}), "if");

// What policy documents give: `pods` and `Pod` mean the same, `-x` takes away, and what the page does not know is told.
const kinds = {resources: [{group: "", resource: "pods", kind: "Pod", subresources: []}, {group: "apps", resource: "deployments", kind: "Deployment", subresources: []}]};
const meant = (resources, more = {}, unknown = new Set()) => [documentTargets(kinds, {resources, ...more}, unknown).map(targetOf), [...unknown]];
assert.deepEqual(meant(["pods", "Deployment"]), [["pods", "deployments.apps"], []]);
assert.deepEqual(meant(["pods/log"]), [["pods/log"], []]);
assert.deepEqual(meant(["*"]), [["*.*"], []]);
assert.deepEqual(meant(["*", "-pods"]), [["deployments.apps"], []]);
assert.deepEqual(meant(["pods", "deployments"], {apiGroups: ["apps"]}), [["deployments.apps"], []]);
assert.deepEqual(meant(["resourcegroup:mine"]), [[], ["resourcegroup:mine"]]);
const given = [...gifts({subjects: [{kind: "User", name: "u"}], namespace: "n", isDocument: true, rules: [
  {verbs: ["get"], resources: ["pods"]}, {deny: true, verbs: ["delete"], resources: ["pods"], attributeRestrictions: {labelsContain: ["x"]}}]}, kinds, new Set())];
assert.deepEqual(given.map((g) => [g.verb, g.deny, g.condition]), [["get", false, ""], ["delete", true, '{"labelsContain":["x"]}']]);
assert.deepEqual([...gifts({subjects: [{kind: "User", name: "u"}], namespace: "n", effect: "Deny", condition: "c", rules: [pods]}, kinds)].map((g) => [g.verb, g.deny, g.condition]),
                 [["get", true, "c"], ["list", true, "c"]]);
const through = (words) => ({binding: {kind: "RoleBinding", name: "b", namespace: "n"}, role: {kind: "Role", name: "r", namespace: "n"}, rule: {verbs: ["get"], [words]: ["pods"]}});
const document = {object: "RoleBinding", isDocument: true}, stored = {metadata: {name: "b", namespace: "n"}};
assert(comesThrough(through("resourceKinds"), document, stored));
assert(!comesThrough(through("resources"), document, stored), "a binding of RBAC may have the same name");
assert(comesThrough(through("resources"), {object: "RoleBinding"}, stored));
assert(!comesThrough(through("resourceKinds"), {object: "RoleBinding"}, stored));
assert(comesThrough(through("resourceKinds"), {object: "Role", isDocument: true}, {metadata: {name: "r", namespace: "master"}}, new Set(["n/b"])), "a role of the master namespace");
assert(!comesThrough(through("resourceKinds"), {object: "Role", isDocument: true}, {metadata: {name: "r", namespace: "n"}}, new Set(["n/c"])));
assert(comesThrough(through("resources"), {object: "Role"}, {metadata: {name: "r", namespace: "n"}}));

// Decisions: which are asked for, and the question of one.
assert.equal(termsOf({user: "a,b", target: "deployments.apps/scale", outcome: "outcome!=Allowed"}),
             "user=a\\,b,request.resource=deployments,request.group=apps,request.subresource=scale,outcome!=Allowed");
assert.equal(termsOf({user: "", target: "/metrics", outcome: ""}), "request.path=/metrics");
assert.equal(questionOf({user: "u", groups: ["dev", "Domain Users"], request: {verb: "get", resource: "pods", namespace: "n"}}).get("groups"), 'dev "Domain Users"');
assert.deepEqual(listed(asWords(["dev", "Domain Users", "a,b"])), ["dev", "Domain Users", "a,b"]);
assert.deepEqual(listed(" dev,ops  x "), ["dev", "ops", "x"]);

// PKCE: the example of RFC 7636.
assert.equal(await challengeOf("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
assert.deepEqual(claimsOf(`x.${Buffer.from('{"sub":"ä"}').toString("base64url")}.y`), {sub: "ä"});
for (const wrong of ["", "x", "a.!.c", "a.e30"]) assert.throws(() => { if (claimsOf(wrong).sub === undefined) throw new Error("no claims"); });
