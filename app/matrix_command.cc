#include "app/matrix_command.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "app/asked_user.h"
#include "app/command_line.h"
#include "app/output.h"
#include "app/terms.h"
#include "app/text_table.h"
#include "base/strings.h"

namespace cardea::app {

using json::Value;

namespace {

constexpr std::size_t kQuestionsAtOnce = 1'000;  // of one BatchSubjectAccessReview

struct Options {
  std::string space, output = "table";
  std::vector<std::string> verbs;
  ServerChoice server;
  bool all_spaces = false, all_resources = false;
};

struct Row {
  Target target;
  std::vector<std::string> verbs;    // that the resource has
  std::vector<std::string> answers;  // one for each column
};

About about() {
  return {"matrix",
          "Prints what a user may do to each resource: yes, no, or `if` where it depends on the "
          "object. Resources that the user may do nothing to are left out. Exits with 0, and "
          "with 2 when the server cannot be asked.",
          {"matrix [flags]"},
          {"cardea matrix -n shop", "cardea matrix --as jane --as-group dev --verbs get,patch",
           "cardea matrix --all-resources -o json"}};
}

void add_resources(const Value& list, const std::string& group, const std::string& version,
                   std::vector<Row>& out) {
  for (const Value& r : list["resources"].items()) {
    std::string name(r["name"].as_string());
    if (name.find('/') != name.npos) continue;
    Row row{.target = {.group = group,
                       .version = version,
                       .resource = name,
                       .subresource = "",
                       .kind = std::string(r["kind"].as_string()),
                       .namespaced = r["namespaced"].as_bool()},
            .verbs = {},
            .answers = {}};
    for (const Value& v : r["verbs"].items()) row.verbs.emplace_back(v.as_string());
    out.push_back(std::move(row));
  }
}

// A group whose server is away is left out, as in kubectl, with a warning.
Result<std::vector<Row>> resources_of(KubeClient& server) {
  std::vector<Row> out;
  auto core = server.call("GET", "/api/v1");
  if (!core) return fail(core.error());
  add_resources(*core, "", "v1", out);
  auto groups = server.call("GET", "/apis");
  if (!groups) return fail(groups.error());
  for (const Value& g : (*groups)["groups"].items()) {
    std::string path = cat("/apis/", g["preferredVersion"]["groupVersion"].as_string());
    auto list = server.call("GET", path);
    if (!list) {
      std::fprintf(stderr, "warning: %s: %s\n", path.c_str(), list.error().message.c_str());
      continue;
    }
    add_resources(*list, std::string(g["name"].as_string()),
                  std::string(g["preferredVersion"]["version"].as_string()), out);
  }
  return out;
}

std::string word_of(const Value& status) {
  if (status["allowed"].as_bool()) return "yes";
  return can_allow(status["conditionsChain"]) ? "if" : "no";
}

// The questions of all rows, in order: one for each verb that the resource has.
struct Asked {
  std::vector<Value> questions;
  std::vector<std::string*> answers;  // where each answer goes
};

Asked questions_of(const Options& o, std::string_view space, std::vector<Row>& rows) {
  Asked out;
  for (Row& row : rows) {
    row.answers.assign(o.verbs.size(), "");
    for (std::size_t i = 0; i < o.verbs.size(); ++i) {
      if (std::ranges::find(row.verbs, o.verbs[i]) == row.verbs.end()) continue;
      Value attributes = Value::object({{"verb", o.verbs[i]},
                                        {"group", row.target.group},
                                        {"version", row.target.version},
                                        {"resource", row.target.resource}});
      if (row.target.namespaced && !o.all_spaces) attributes.set("namespace", space);
      out.questions.push_back(Value::object({{"resourceAttributes", std::move(attributes)}}));
      out.answers.push_back(&row.answers[i]);
    }
  }
  return out;
}

Value readable_conditions() {
  return Value::object({{"mode", "HumanReadable"}});
}

Result<void> ask_together(KubeClient& server, const Value& user, Asked& asked) {
  for (std::size_t at = 0; at < asked.questions.size(); at += kQuestionsAtOnce) {
    std::size_t end = std::min(at + kQuestionsAtOnce, asked.questions.size());
    Value spec = user;
    spec.set("conditionalAuthorization", readable_conditions());
    Value items = Value::array();
    for (std::size_t i = at; i < end; ++i) items.push_back(asked.questions[i]);
    spec.set("items", std::move(items));
    auto answer = server.review("access.cardea.dev/v1alpha1", "BatchSubjectAccessReview",
                                std::move(spec));
    if (!answer) return fail(answer.error());
    const Value& said = (*answer)["status"]["items"];
    if (said.size() != end - at) return fail(internal_error("the server left out answers"));
    for (std::size_t i = at; i < end; ++i) *asked.answers[i] = word_of(said[i - at]);
  }
  return {};
}

// For users who may ask about themselves only, and servers that know no batches.
Result<void> ask_one_by_one(KubeClient& server, Asked& asked) {
  for (std::size_t i = 0; i < asked.questions.size(); ++i) {
    Value spec = asked.questions[i];
    spec.set("conditionalAuthorization", readable_conditions());
    auto answer = server.review("authorization.k8s.io/v1", "SelfSubjectAccessReview",
                                std::move(spec));
    if (!answer) return fail(answer.error());
    *asked.answers[i] = word_of((*answer)["status"]);
  }
  return {};
}

Result<void> ask(const Options& o, KubeClient& own, Asked& asked) {
  auto user = asked_user(own, o.server);
  if (!user) return fail(user.error());
  if (auto done = ask_together(own, *user, asked); done) return {};
  auto server = KubeClient::make(o.server);  // in the name of that user
  if (!server) return fail(server.error());
  return ask_one_by_one(**server, asked);
}

std::string full_name(const Target& t) {
  return t.group.empty() ? t.resource : cat(t.resource, ".", t.group);
}

std::string heading(std::string_view verb) {
  std::string out(verb);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

bool is_worth_a_line(const Options& o, const Row& row) {
  return o.all_resources || std::ranges::any_of(row.answers, [](const std::string& a) {
           return a == "yes" || a == "if";
         });
}

void print(const Options& o, const std::vector<Row>& rows) {
  std::vector<std::string> header{"NAME"};
  for (const std::string& v : o.verbs) header.push_back(heading(v));
  TextTable table(header);
  for (const Row& row : rows) {
    if (!is_worth_a_line(o, row)) continue;
    std::vector<std::string> cells{full_name(row.target)};
    cells.insert(cells.end(), row.answers.begin(), row.answers.end());
    table.add(std::move(cells));
  }
  if (table.is_empty())
    std::puts("nothing");
  else
    std::fputs(table.text().c_str(), stdout);
}

Value document_of(const Options& o, const std::vector<Row>& rows) {
  Value out = Value::object({});
  for (const Row& row : rows) {
    if (!is_worth_a_line(o, row)) continue;
    Value& one = out.member(full_name(row.target));
    for (std::size_t i = 0; i < o.verbs.size(); ++i)
      if (!row.answers[i].empty()) one.set(o.verbs[i], row.answers[i]);
  }
  return out;
}

}  // namespace

int matrix_command(int argc, char** argv) {
  Options o;
  std::string verbs = "list,create,update,delete";
  CommandLine line(about());
  line.value("--verbs", verbs, "LIST", cat("the columns (default: ", verbs, ")"));
  line.flag("--all-resources", o.all_resources, "shows resources without any permission too");
  line.value("-n,--namespace", o.space, "NAME",
             "the namespace (default: the context's, else `default`)");
  line.flag("-A,--all-namespaces", o.all_spaces, "asks about all namespaces together");
  declare_output(line, o.output);
  declare_user(line, o.server);
  declare_server(line, o.server);
  if (auto status = line.read(argc, argv)) return *status;
  if (std::string wrong = problem_of(o.server); !wrong.empty()) return line.misuse(wrong);
  for (std::string_view verb : split(verbs, ','))
    if (!trim(verb).empty()) o.verbs.emplace_back(trim(verb));
  if (o.verbs.empty()) return line.misuse("`--verbs` names no verb");
  auto own = KubeClient::make(without_user(o.server));
  if (!own) return line.failed(own.error().message);
  auto rows = resources_of(**own);
  if (!rows) return line.failed(rows.error().message);
  Asked asked = questions_of(o, o.space.empty() ? (*own)->space() : std::string_view(o.space),
                             *rows);
  if (auto done = ask(o, **own, asked); !done) return line.failed(done.error().message);
  if (!print_document(o.output, document_of(o, *rows))) print(o, *rows);
  return 0;
}

}  // namespace cardea::app
