// Who can? All subjects that policies name and allow, and through what.
import {attributesOf} from "./api.js";
import {celText} from "./cel_text.js";
import {denials} from "./denials.js";
import {h, replace, settled} from "./dom.js";
import {namespaceSource, VirtualList, busy, chips, count, failureNotice, fixedSource, notice, section, showDialog, suggestField, targets, textField, verbsOf} from "./parts.js";

const shownName = (s) => (s.namespace ? `${s.namespace}/${s.name}` : s.name);

function details(subject) {
  return [subject.dependsOn && h("p", {}, `Depends on ${subject.dependsOn}: only authentication knows the members.`),
    (subject.via ?? []).map((via) => h("div", {class: "condition allow"}, h("dl", {class: "facts"},
      h("dt", {}, via.binding.kind), h("dd", {class: "mono"}, via.binding.namespace ? `${via.binding.namespace}/` : "", via.binding.name),
      via.role && [h("dt", {}, via.role.kind), h("dd", {class: "mono"}, via.role.namespace ? `${via.role.namespace}/` : "", via.role.name)],
      via.rule && Object.entries(via.rule).map(([key, value]) => [h("dt", {}, key), h("dd", {}, chips([value].flat().map((v) => (v === "" ? "core" : String(v)))))])),
      (via.conditions ?? []).map((c) => [h("p", {}, "if"), celText(c)]))),
    !subject.via?.length && !subject.dependsOn && h("p", {}, "Allowed without a binding.")];
}

// Denials hold whatever allows, so they stand above the list of those who may.
function deniedView({policies, unread}) {
  return [
    policies.length > 0 && section("Who is denied, whatever allows", policies.map((p) => h("div", {class: "condition deny"},
      h("p", {}, h("strong", {class: "mono"}, shownName(p.metadata)), p.spec.description && ` – ${p.spec.description}`),
      p.spec.subjects?.length ? chips(p.spec.subjects.map((s) => `${s.kind} ${shownName(s)}`)) : h("p", {}, "Everybody"),
      p.spec.expression && [h("p", {}, "if"), celText(p.spec.expression)]))),
    unread.length > 0 && notice("warn", "There may be denials", `You may not list ${unread.join(" and ")}.`)];
}

export function who({api}) {
  const target = suggestField({label: "Resource, or a path with /", source: targets(api), placeholder: "secrets, pods/exec, /metrics", required: true});
  const verb = suggestField({label: "Verb", source: fixedSource(() => verbsOf(api, target.value)), value: "get", required: true});
  const namespace = suggestField({label: "Namespace", source: namespaceSource(api), placeholder: "the whole cluster"});
  const name = textField({label: "Name", placeholder: "any"});
  const result = h("div", {"aria-live": "polite"});
  const filter = textField({label: "Filter the subjects", placeholder: "name or kind"});
  const list = new VirtualList({label: "Subjects that may do it", rowHeight: 38, pick: (s) => showDialog(`${s.kind} ${shownName(s)}`, details(s)), render: (s) => [
    h("span", {class: "kind"}, s.kind), h("span", {class: "mono"}, shownName(s)),
    (s.via ?? []).some((v) => v.conditions) && h("span", {class: "chip if"}, "yes, if"),
    h("span", {class: "tail"}, s.via?.length ? s.via.map((v) => v.role?.name ?? v.binding.name).slice(0, 3).join(", ") : s.dependsOn ?? "")]});
  let all = [], round = null;
  const shown = h("p", {class: "hint", role: "status"});
  const refresh = () => {
    const word = filter.value.toLowerCase();
    const fit = word ? all.filter((s) => `${s.kind} ${shownName(s)}`.toLowerCase().includes(word)) : all;
    list.set(fit);
    replace(shown, `${count(fit.length)} of ${count(all.length)} subjects. A group stands for its members. Press Enter on one to see through what.`);
  };
  filter.input.addEventListener("input", settled(refresh));

  async function ask() {
    if (!target.value || !verb.value) return replace(result, notice("bad", "Something is missing", "Enter a verb and a resource."));
    round?.abort();
    const mine = round = new AbortController();
    replace(result, busy("Asking…"));
    try {
      const question = attributesOf(api, {verb: verb.value, target: target.value, namespace: namespace.value, name: name.value});
      const [review, denied] = await Promise.all([
        api.review("access.cardea.dev", "v1alpha1", "resourceaccessreviews", "ResourceAccessReview", question, {signal: mine.signal}), denials(api, question, mine.signal)]);
      if (mine !== round) return;
      const status = review.status;
      all = status.subjects ?? [];
      replace(result,
        status.incomplete && notice("warn", "The list may not be complete", status.evaluationError ?? "An authorizer decides in another way."),
        deniedView(denied),
        section(`Who can ${verb.value} ${target.value}${namespace.value ? ` in ${namespace.value}` : ""}`, all.length
          ? [filter.element, list.element, shown] : h("p", {}, "Nobody that a policy names.")));
      refresh();
    } catch (error) {
      if (mine !== round || error.name === "AbortError") return;
      replace(result, failureNotice(error, error.status === 403 ? "You need to create resourceaccessreviews.access.cardea.dev." : ""));
    }
  }

  const form = h("form", {class: "card", on: {submit: (event) => { event.preventDefault(); ask(); }}},
    target.element, verb.element, namespace.element, name.element, h("div", {class: "buttons"}, h("button", {type: "submit"}, "Ask")));
  const element = h("div", {}, h("h1", {}, "Who can?"), h("p", {class: "lead"}, "The users, groups and service accounts that roles, bindings and policies allow something; those that are denied in any case are left out."),
                    h("div", {class: "two"}, form, result));
  return {element, open(query) {
    for (const [key, field] of Object.entries({target, verb, namespace, name})) if (query.has(key)) field.value = query.get(key);
    if (query.get("ask") === "1") {
      history.replaceState(null, "", "#/who");
      ask();
    }
  }};
}
