#include "app/can_i_command.h"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "advice/field_question.h"
#include "advice/permission_page.h"
#include "app/command_line.h"
#include "app/known_resources.h"
#include "app/kube_client.h"
#include "authz/wire/sealed_text.h"
#include "base/strings.h"

namespace cardea::app {
namespace {

using advice::ask_about_field;
using advice::FieldAnswer;
using advice::FieldQuestion;
using advice::judge_field;
using advice::rule_text;
using advice::VerbAnswer;
using json::Value;

struct Options {
  std::string verb, resource, name;
  std::string space, field;
  ServerChoice server;
  bool quiet = false;
};

About about() {
  return {
      "can-i",
      "Asks a server whether you may do something. Prints `yes`, `no`, or `yes, if` with each "
      "condition. Exits with 0 for yes, 1 for no, 3 for `yes, if`, and 2 when the server cannot "
      "be asked.\n\nWith --field the command asks about one field. It says which verb covers the "
      "field or, on no, which verbs would cover it and the smallest missing rule.",
      {"can-i VERB RESOURCE[.VERSION[.GROUP]][/SUBRESOURCE] [NAME] [flags]",
       "can-i create|update|patch RESOURCE [NAME] --field FIELD [flags]",
       "can-i VERB /PATH [flags]"}};
}

void declare(CommandLine& line, Options& o) {
  line.word("VERB", o.verb, "what you want to do: get, list, create, ...");
  line.word("RESOURCE", o.resource, "what you want to do it to, or a path such as /healthz");
  line.word("NAME", o.name, "the name of one object");
  line.value("--field", o.field, "FIELD",
             "asks about one field: spec.replicas, metadata.labels.app, "
             "metadata.finalizers[example.com/f], status.conditions[Ready]");
  line.value("-n,--namespace", o.space, "NAME",
             "asks about this namespace (default: the whole cluster)");
  line.value("--as", o.server.user, "USER", "asks in the name of another user");
  line.values("--as-group", o.server.groups, "GROUP",
              "asks in the name of this group too; needs --as; may be repeated");
  declare_server(line, o.server);
  line.flag("-q,--quiet", o.quiet, "prints nothing; the exit status is the answer");
}

// What is wrong with the options together; empty when nothing is.
std::string_view problem(const Options& o) {
  if (o.resource.empty()) return "a verb and a resource are wanted";
  if (!o.server.groups.empty() && o.server.user.empty()) return "`--as-group` needs `--as`";
  if (!o.field.empty() && o.resource.starts_with('/')) return "`--field` needs a resource";
  return "";
}

void print_conditions(const Value& set) {
  for (std::string_view effect : {"Deny", "NoOpinion", "Allow"})
    for (const Value& c : set["conditions"].items()) {
      if (c["effect"].as_string() != effect) continue;
      std::string_view word = effect == "Allow"  ? "allowed if"
                              : effect == "Deny" ? "denied if"
                                                 : "left to others if";
      std::string text(c["condition"].as_string());
      if (c["type"].as_string() == authz::wire::kSealedType)
        if (auto inside = authz::wire::SealedText::parse(text))
          text = inside->text.empty() ? "" : cat(inside->text, " (", inside->type, ")");
      std::printf("  %s %s\n", std::string(word).c_str(),
                  text.empty() ? cat("`", c["id"].as_string(), "` holds").c_str() : text.c_str());
      std::printf("    %s: %s", std::string(set["authorizerName"].as_string()).c_str(),
                  std::string(c["id"].as_string()).c_str());
      if (std::string_view d = c["description"].as_string(); !d.empty())
        std::printf(": %s", std::string(d).c_str());
      std::printf("\n");
    }
}

bool can_allow(const Value& chain) {
  for (const Value& set : chain.items()) {
    if (set["allowed"].as_bool()) return true;
    for (const Value& c : set["conditions"].items())
      if (c["effect"].as_string() == "Allow") return true;
  }
  return false;
}

void print_terms(const Value& chain) {
  for (const Value& set : chain.items()) {
    print_conditions(set);
    std::string name(set["authorizerName"].as_string());
    if (set["allowed"].as_bool()) std::printf("  else allowed by %s\n", name.c_str());
    if (set["denied"].as_bool()) std::printf("  else denied by %s\n", name.c_str());
  }
}

int show(const Value& status, bool quiet) {
  const Value& chain = status["conditionsChain"];
  bool allowed = status["allowed"].as_bool();
  bool perhaps = !allowed && can_allow(chain);
  if (!quiet) {
    std::puts(allowed ? "yes" : perhaps ? "yes, if" : "no");
    if (!allowed) print_terms(chain);
    if (std::string_view reason = status["reason"].as_string(); !allowed && !reason.empty())
      std::printf("  %s\n", std::string(reason).c_str());
    if (std::string_view error = status["evaluationError"].as_string(); !error.empty())
      std::fprintf(stderr, "warning: %s\n", std::string(error).c_str());
  }
  return allowed ? 0 : perhaps ? 3 : 1;
}

int cannot_ask(const std::string& why) {
  std::fprintf(stderr, "cardea can-i: %s\n", why.c_str());
  return 2;
}

Value attributes_of(const Options& options, const Target& target) {
  Value out = Value::object({{"verb", options.verb},
                             {"group", target.group},
                             {"version", target.version},
                             {"resource", target.resource}});
  if (!target.subresource.empty()) out.set("subresource", target.subresource);
  if (!options.space.empty()) out.set("namespace", options.space);
  if (!options.name.empty()) out.set("name", options.name);
  return out;
}

// The status of a review.
Result<Value> review(KubeClient& server, std::string_view attributes_name, Value attributes) {
  Value spec = Value::object(
      {{"conditionalAuthorization", Value::object({{"mode", "HumanReadable"}})},
       {attributes_name, std::move(attributes)}});
  Value body = Value::object({{"apiVersion", "authorization.k8s.io/v1"},
                              {"kind", "SelfSubjectAccessReview"},
                              {"spec", std::move(spec)}});
  auto answer = server.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                            &body);
  if (!answer) return fail(answer.error());
  return (*answer)["status"];
}

// What administrators excluded from other permissions, as far as it may be read.
schema::ExcludedVerbs uncovered_verbs(KubeClient& server, bool quiet) {
  schema::ExcludedVerbs out;
  auto sets = server.call("GET", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets");
  if (!sets) {
    bool is_absent = sets.error().message.find("status 404") != std::string::npos;
    if (!is_absent && !quiet)
      std::fprintf(stderr, "warning: cannot see what UncoveredPermissionSets exclude: %s\n",
                   sets.error().message.c_str());
    return out;
  }
  for (const Value& set : (*sets)["items"].items())
    for (const Value& verb : set["spec"]["uncoveredPermissions"].items()) out.add(verb.as_string());
  return out;
}

void print_field_answer(const FieldQuestion& question, const FieldAnswer& answer,
                        const Target& target, const std::map<std::string, Value>& said) {
  std::puts(answer.answer == VerbAnswer::kYes  ? "yes"
            : answer.answer == VerbAnswer::kIf ? "yes, if"
                                               : "no");
  if (answer.answer >= VerbAnswer::kIf) {
    if (answer.answer == VerbAnswer::kIf)
      for (const std::string& verb : answer.covered_by)
        if (!said.at(verb)["allowed"].as_bool()) print_terms(said.at(verb)["conditionsChain"]);
    std::printf("  %s is covered by %s\n", question.field.c_str(),
                join(answer.covered_by, " and ").c_str());
    return;
  }
  if (answer.answer == VerbAnswer::kDenied) {
    std::puts("  the verb itself is denied, and no other counts then");
    return;
  }
  if (!question.unnamed.empty()) {
    std::printf("  %s is guarded by %s, and no verb can be made of it\n", question.field.c_str(),
                question.unnamed.c_str());
    return;
  }
  if (!question.excluded.empty())
    std::printf("  %s needs %s itself, which nothing else implies\n", question.field.c_str(),
                join(question.excluded, " and ").c_str());
  else
    std::printf("  %s would be covered by %s\n", question.field.c_str(),
                join(answer.would_cover, ", ").c_str());
  std::string resource = target.subresource.empty() ? target.resource
                                                    : cat(target.resource, "/", target.subresource);
  std::printf("  the smallest missing rule: %s\n",
              rule_text(target.group, {resource}, answer.lacking).c_str());
}

int can_i_change(KubeClient& server, const Options& options, const Target& target) {
  KnownResources known;
  auto resource = known.learn(server, target);
  if (!resource) return cannot_ask(resource.error().message);
  if (!*resource) return cannot_ask(cat("nothing is known about `", target.resource, "`"));
  auto question = ask_about_field(**resource, target.subresource, options.verb, options.field,
                                  uncovered_verbs(server, options.quiet));
  if (!question) return cannot_ask(question.error().message);
  std::map<std::string, Value> said;
  auto answer = judge_field(
      *question, options.verb, [&](const std::string& verb) -> Result<VerbAnswer> {
        Value attributes = attributes_of(options, target);
        attributes.set("verb", verb);
        auto status = review(server, "resourceAttributes", std::move(attributes));
        if (!status) return fail(status.error());
        said[verb] = *status;
        if ((*status)["allowed"].as_bool()) return VerbAnswer::kYes;
        if (can_allow((*status)["conditionsChain"])) return VerbAnswer::kIf;
        return (*status)["denied"].as_bool() ? VerbAnswer::kDenied : VerbAnswer::kNo;
      });
  if (!answer) return cannot_ask(answer.error().message);
  if (!options.quiet) print_field_answer(*question, *answer, target, said);
  return answer->answer == VerbAnswer::kYes ? 0 : answer->answer == VerbAnswer::kIf ? 3 : 1;
}

}  // namespace

int can_i_command(int argc, char** argv) {
  Options options;
  CommandLine line(about());
  declare(line, options);
  if (auto status = line.read(argc, argv)) return *status;
  if (auto wrong = problem(options); !wrong.empty()) return line.misuse(wrong);
  auto server = KubeClient::make(options.server);
  if (!server) return cannot_ask(server.error().message);
  Result<Value> status;
  if (options.resource.starts_with('/')) {
    status = review(**server, "nonResourceAttributes",
                    Value::object({{"verb", options.verb}, {"path", options.resource}}));
  } else {
    auto target = find_target(**server, options.resource);
    if (!target) return cannot_ask(target.error().message);
    if (!options.field.empty()) return can_i_change(**server, options, *target);
    status = review(**server, "resourceAttributes", attributes_of(options, *target));
  }
  if (!status) return cannot_ask(status.error().message);
  return show(*status, options.quiet);
}

}  // namespace cardea::app
