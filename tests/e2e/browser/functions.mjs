// The parts of the page that need no browser. functions.mjs FOLDER, where FOLDER has the files of the page.
import assert from "node:assert/strict";
import {pathToFileURL} from "node:url";

const load = (name) => import(pathToFileURL(`${process.argv[2]}/${name}.js`));
const {fromDocument, idleness, isCovered} = await load("grants");
const {asYaml} = await load("change");
const {pathBefore} = await load("playground");
const {attributesOf, outcome} = await load("api");
const {isAbout} = await load("denials");

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
