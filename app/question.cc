#include "app/question.h"

#include <cstdio>

#include "app/command_line.h"
#include "base/strings.h"

namespace cardea::app {

using json::Value;

void declare_question(CommandLine& line, Question& question) {
  line.word("VERB", question.verb, "the action: get, list, create, ...");
  line.word("RESOURCE", question.resource, "its target, or a path such as /healthz");
  line.word("NAME", question.name, "the name of one object");
  line.value("-n,--namespace", question.space, "NAME",
             "the namespace (default: the context's, else `default`)");
  line.flag("-A,--all-namespaces", question.all_spaces, "asks about all namespaces together");
}

std::string problem_of(const Question& q) {
  if (q.resource.empty()) return "a verb and a resource are wanted";
  if (!q.space.empty() && q.all_spaces)
    return "`--namespace` and `--all-namespaces` exclude each other";
  if (q.is_about_path() && !q.name.empty()) return "a path has no name";
  return "";
}

Value attributes_of(const KubeClient& server, const Question& q, const Target& target) {
  Value out = Value::object({{"verb", q.verb},
                             {"group", target.group},
                             {"version", target.version},
                             {"resource", target.resource}});
  if (!target.subresource.empty()) out.set("subresource", target.subresource);
  if (target.namespaced && !q.all_spaces)
    out.set("namespace", q.space.empty() ? server.space() : std::string_view(q.space));
  if (!q.name.empty()) out.set("name", q.name);
  return out;
}

Result<AskedAttributes> attributes_of(KubeClient& server, const Question& q) {
  if (q.is_about_path())
    return AskedAttributes{"nonResourceAttributes",
                           Value::object({{"verb", q.verb}, {"path", q.resource}})};
  auto target = find_target(server, q.resource);
  if (!target && target.error().reason == Reason::kNotFound) {
    std::fprintf(stderr, "warning: %s\n", target.error().message.c_str());
    std::size_t slash = std::min(q.resource.find('/'), q.resource.size());
    std::size_t dot = std::min(q.resource.find('.'), slash);
    target = Target{.group = dot == slash ? "" : q.resource.substr(dot + 1, slash - dot - 1),
                    .version = "*",
                    .resource = q.resource.substr(0, dot),
                    .subresource = slash == q.resource.size() ? "" : q.resource.substr(slash + 1),
                    .kind = "",
                    .namespaced = !q.space.empty()};
  }
  if (!target) return fail(target.error());
  return AskedAttributes{"resourceAttributes", attributes_of(server, q, *target)};
}

}  // namespace cardea::app
