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
#include "app/output.h"
#include "app/question.h"
#include "app/terms.h"
#include "app/text_table.h"
#include "authz/fields/uncovered.h"
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
  Question question;
  std::string field, output = "table";
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
       "can-i VERB /PATH [flags]"},
      {"cardea can-i create deployments -n shop",
       "cardea can-i patch deployments web --field spec.replicas --as bot",
       "cardea can-i get /metrics -o json"}};
}

void declare(CommandLine& line, Options& o) {
  declare_question(line, o.question);
  line.value("--field", o.field, "FIELD",
             "asks about one field: spec.replicas, metadata.labels.app, "
             "metadata.finalizers[example.com/f], status.conditions[Ready]");
  line.flag("-q,--quiet", o.quiet, "prints nothing; the exit status is the answer");
  declare_output(line, o.output);
  declare_user(line, o.server);
  declare_server(line, o.server);
}

// What is wrong with the options together; empty when nothing is.
std::string problem(const Options& o) {
  if (std::string wrong = problem_of(o.question); !wrong.empty()) return wrong;
  if (std::string wrong = problem_of(o.server); !wrong.empty()) return wrong;
  if (!o.field.empty() && o.question.is_about_path()) return "`--field` needs a resource";
  if (!o.field.empty() && o.output != "table") return "`--field` has no document as its answer";
  return "";
}

int show(const Value& status, const Options& options) {
  const Value& chain = status["conditionsChain"];
  bool allowed = status["allowed"].as_bool();
  bool perhaps = !allowed && can_allow(chain);
  if (!options.quiet && !print_document(options.output, status)) {
    std::puts(allowed ? "yes" : perhaps ? "yes, if" : "no");
    if (!allowed) std::fputs(terms_text(chain).c_str(), stdout);
    if (std::string_view reason = status["reason"].as_string(); !allowed && !reason.empty())
      std::printf("  %s\n", harmless(reason).c_str());
    if (std::string_view error = status["evaluationError"].as_string(); !error.empty())
      std::fprintf(stderr, "warning: %s\n", std::string(error).c_str());
  }
  return allowed ? 0 : perhaps ? 3 : 1;
}

int cannot_ask(const std::string& why) {
  std::fprintf(stderr, "cardea can-i: %s\n", why.c_str());
  return 2;
}

// The status of a review.
Result<Value> review(KubeClient& server, std::string_view member, Value attributes) {
  Value spec = Value::object(
      {{"conditionalAuthorization", Value::object({{"mode", "HumanReadable"}})},
       {member, std::move(attributes)}});
  auto answer = server.review("authorization.k8s.io/v1", "SelfSubjectAccessReview",
                              std::move(spec));
  if (!answer) return fail(answer.error());
  return (*answer)["status"];
}

// What administrators excluded from other permissions, as far as it may be read.
schema::ExcludedVerbs uncovered_verbs(KubeClient& server, const Target& target, bool quiet) {
  authz::fields::Uncovered out;
  auto sets = server.call("GET", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets");
  if (!sets) {
    bool is_absent = sets.error().message.find("status 404") != std::string::npos;
    if (!is_absent && !quiet)
      std::fprintf(stderr, "warning: cannot see what UncoveredPermissionSets exclude: %s\n",
                   sets.error().message.c_str());
    return {};
  }
  for (const Value& set : (*sets)["items"].items()) out.add(set["spec"]);
  return out.on(target.group, target.resource).verbs;
}

void print_field_answer(const FieldQuestion& question, const FieldAnswer& answer,
                        const Target& target, const std::map<std::string, Value>& said) {
  std::puts(answer.answer == VerbAnswer::kYes  ? "yes"
            : answer.answer == VerbAnswer::kIf ? "yes, if"
                                               : "no");
  if (answer.answer >= VerbAnswer::kIf) {
    if (answer.answer == VerbAnswer::kIf)
      for (const std::string& verb : answer.covered_by)
        if (!said.at(verb)["allowed"].as_bool())
          std::fputs(terms_text(said.at(verb)["conditionsChain"]).c_str(), stdout);
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
  auto question = ask_about_field(**resource, target.subresource, options.question.verb,
                                  options.field, uncovered_verbs(server, target, options.quiet));
  if (!question) return cannot_ask(question.error().message);
  std::map<std::string, Value> said;
  auto answer = judge_field(
      *question, options.question.verb, [&](const std::string& verb) -> Result<VerbAnswer> {
        Value attributes = attributes_of(server, options.question, target);
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
  if (!options.field.empty()) {
    auto target = find_target(**server, options.question.resource);
    if (!target) return cannot_ask(target.error().message);
    return can_i_change(**server, options, *target);
  }
  auto asked = attributes_of(**server, options.question);
  if (!asked) return cannot_ask(asked.error().message);
  auto status = review(**server, asked->member, std::move(asked->value));
  if (!status) return cannot_ask(status.error().message);
  return show(*status, options);
}

}  // namespace cardea::app
