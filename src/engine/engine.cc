#include "cardea/engine.h"

#include <mutex>

#include "base/snapshot.h"
#include "base/strings.h"
#include "engine/answer.h"
#include "engine/field_judgement.h"
#include "engine/guarded.h"

namespace cardea::v1 {

using engine::Document;
using engine::guarded;
using engine::KnownChange;
using engine::Question;
using engine::State;

struct Engine::Content {
  explicit Content(Options options) : documents(std::move(options)) {}

  std::mutex mutex;  // for writers; the thread that holds it may use the documents
  engine::Documents documents;
  std::string master;
  Snapshot<State> state{documents.state()};

  std::shared_ptr<const State> now() const { return state.get(); }
};

namespace {

using Check = cardea::Result<Document> (*)(json::Value object, std::string_view master);

Result<std::vector<Document>> read(std::string_view text, std::string_view master, Check check) {
  auto objects = engine::read_objects(text);
  if (!objects) return engine::public_error(Error::Code::kBadDocument, objects.error());
  std::vector<Document> out;
  for (json::Value& object : *objects) {
    auto document = check(std::move(object), master);
    if (!document) return engine::public_error(Error::Code::kBadDocument, document.error());
    out.push_back(std::move(*document));
  }
  return out;
}

Decision failed_question(std::string why) {
  return engine::public_decision(authz::Decision::no_opinion("", std::move(why)));
}

Decision decide(std::shared_ptr<const State> state, const Request& request,
                engine::Folding folding) {
  auto question = std::make_shared<const Question>(request);
  if (!question->problem().empty()) return failed_question(question->problem());
  authz::Decision decision = engine::answer(*state, question->attributes(), folding);
  if (decision.kind != authz::Decision::Kind::kConditional)
    return engine::public_decision(std::move(decision));
  return engine::public_decision(std::move(decision), std::move(state), std::move(question));
}

std::string shown(const Explanation& e) {
  const Decision& d = e.decision;
  auto because = [](const std::string& text) { return text.empty() ? "" : cat(": ", text); };
  std::string out = cat(name_of(d.outcome()), because(d.reason()),
                        d.error().empty() ? "" : cat(" (error: ", d.error(), ")"), "\n");
  for (const Condition& c : d.conditions())
    out += cat("  ", c.authorizer, ": ", name_of(c.effect), " if ", c.expression,
               c.description.empty() ? "" : cat("  # ", c.description), "\n");
  for (const Explanation::Answer& a : e.answers)
    out += cat("  ", a.authorizer, ": ", name_of(a.outcome), because(a.reason),
               a.error.empty() ? "" : cat(" (error: ", a.error, ")"), "\n");
  for (const Explanation::NearMiss& n : e.near_misses) out += cat("  near: ", n.text, "\n");
  return out;
}

Error::Code code_of(const cardea::Error& error) {
  return error.reason == Reason::kNotFound ? Error::Code::kUnknownKind : Error::Code::kBadQuestion;
}

// What `judge` makes of a change that could be read.
template <typename Judge>
auto about_change(const State& state, const Request& request, const Change& change, Judge judge)
    -> Result<typename decltype(judge(state, std::declval<const Question&>(),
                                      std::declval<const KnownChange&>()))::value_type> {
  if (request.resource.empty())
    return Error{Error::Code::kBadQuestion, "a change is made to a resource"};
  if (request.verb != "create" && request.verb != "update" && request.verb != "patch")
    return Error{Error::Code::kBadQuestion, cat("the verb ", quoted(request.verb),
                                                " changes no fields: create, update and patch do")};
  const Question question(request);
  auto known = KnownChange::read(state, question, change);
  if (!known) return engine::public_error(code_of(known.error()), known.error());
  auto out = judge(state, question, *known);
  if (!out) return engine::public_error(code_of(out.error()), out.error());
  return std::move(*out);
}

}  // namespace

Engine::Engine(Options options) {
  std::string master = options.master_namespace;
  content_ = std::make_unique<Content>(std::move(options));
  content_->master = std::move(master);
}

Engine::~Engine() = default;

Result<std::size_t> Engine::load(std::string_view text) {
  return guarded([&]() -> Result<std::size_t> {
    auto documents = read(text, content_->master, engine::checked);
    if (!documents) return documents.error();
    std::lock_guard lock(content_->mutex);
    for (const Document& d : *documents) content_->documents.put(d);
    content_->state.set(content_->documents.state());
    return documents->size();
  });
}

Result<std::size_t> Engine::remove(std::string_view text) {
  return guarded([&]() -> Result<std::size_t> {
    auto documents = read(text, content_->master, engine::identified);
    if (!documents) return documents.error();
    std::lock_guard lock(content_->mutex);
    std::size_t removed = 0;
    for (const Document& d : *documents) removed += content_->documents.erase(d);
    content_->state.set(content_->documents.state());
    return removed;
  });
}

Decision Engine::ask(const Request& request) const {
  return guarded([&] { return decide(content_->now(), request, engine::Folding::kNo); },
                 [](std::string) { return Decision(); });
}

Decision Engine::ask_unconditionally(const Request& request) const {
  return guarded([&] { return decide(content_->now(), request, engine::Folding::kYes); },
                 [](std::string) { return Decision(); });
}

Explanation Engine::explain(const Request& request) const {
  return guarded(
      [&] {
        Explanation out;
        std::shared_ptr<const State> state = content_->now();
        out.decision = decide(state, request, engine::Folding::kNo);
        const Question question(request);
        for (const auto& authorizer : state->chain->authorizers()) {
          if (!question.problem().empty()) break;
          authz::Attributes asked = question.attributes();
          asked.takes_conditions = true;
          auto answer = authorizer->authorize(asked);
          if (!answer) continue;
          out.answers.push_back({.authorizer = std::string(authorizer->name()),
                                 .outcome = engine::outcome_of(answer->kind),
                                 .reason = answer->reason.text(),
                                 .error = answer->error});
          if (out.decision.outcome() == Outcome::kAllow) continue;
          for (authz::Hint& hint : authorizer->hints(question.attributes()))
            out.near_misses.push_back({.text = std::move(hint.text),
                                       .role_namespace = std::move(hint.role_namespace),
                                       .role = std::move(hint.role)});
        }
        out.text = shown(out);
        return out;
      },
      [](std::string) { return Explanation(); });
}

Result<std::vector<FieldDemand>> Engine::field_demands(const Request& request,
                                                       const Change& change) const {
  return guarded([&]() -> Result<std::vector<FieldDemand>> {
    std::shared_ptr<const State> state = content_->now();
    return about_change(*state, request, change,
                        [](const State& s, const Question&, const KnownChange& known) {
                          return engine::field_demands(s, known);
                        });
  });
}

Result<FieldJudgement> Engine::judge_fields(const Request& request, const Change& change) const {
  return guarded([&]() -> Result<FieldJudgement> {
    std::shared_ptr<const State> state = content_->now();
    if (std::string problem = Question(request).problem(); !problem.empty())
      return Error{Error::Code::kBadQuestion, std::move(problem)};
    return about_change(*state, request, change,
                        [](const State& s, const Question& q, const KnownChange& known) {
                          return engine::judged_fields(s, q, known);
                        });
  });
}

}  // namespace cardea::v1
