// Random policies, requests and objects: authorization followed by its conditions must give the
// same result as one evaluation of the whole request.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "authz/access/access_authorizer.h"
#include "authz/access/environment.h"
#include "authz/wire/decision_json.h"
#include "base/strings.h"
#include "cel/eval/evaluate.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::authz::access {
namespace {

using json::Value;
using Kind = Decision::Kind;
using Effect = Policy::Effect;

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  std::string pick(std::initializer_list<const char*> list) {
    return *(list.begin() + below(list.size()));
  }

  std::string expression(int depth = 0) {
    switch (depth > 2 ? 0 : below(6)) {
      case 0:
      case 1:
        return atom();
      case 2:
        return cat("(", expression(depth + 1), " && ", expression(depth + 1), ")");
      case 3:
        return cat("(", expression(depth + 1), " || ", expression(depth + 1), ")");
      case 4:
        return cat("!(", expression(depth + 1), ")");
      default:
        return cat("(", expression(depth + 1), " ? ", expression(depth + 1), " : ",
                   expression(depth + 1), ")");
    }
  }

 private:
  std::string atom() {
    return pick({"request.verb == 'create'",
                 "request.userInfo.username == 'alice'",
                 "'dev' in request.userInfo.groups",
                 "request.name.startsWith('x')",
                 "request.userInfo.extra['scope'][0] == 's'",
                 "request.namespace == object.metadata.namespace",
                 "object.metadata.name == request.name",
                 "object.a == 1",
                 "oldObject == null",
                 "object != null",
                 "operation == 'CREATE'",
                 "has(object.b)",
                 "object.b.c.startsWith('x')",
                 "object.list.all(i, i > 1)",
                 "object.list.exists(i, i == 2)",
                 "oldObject.a == object.a",
                 "namespaceObject.metadata.labels.env == 'p'",
                 "options.dryRun == ['All']",
                 "true",
                 "false",
                 "object.list[3] == 1",
                 "1 / (object.a - 1) > 0"});
  }
  std::mt19937_64 random_;
};

PolicyPtr random_policy(Chance& g, std::size_t i) {
  Value spec = Value::object({{"effect", g.pick({"Allow", "Allow", "Deny", "NoOpinion"})}});
  if (g.below(3) == 0)
    spec.set("subjects",
             Value::array({Value::object({{"kind", "User"}, {"name", g.pick({"alice", "bob"})}})}));
  if (g.below(3) == 0)
    spec.set(
        "rules",
        Value::array({Value::object({{"verbs", Value::array({g.pick({"create", "update", "*"})})},
                                     {"apiGroups", Value::array({""})},
                                     {"resources", Value::array({"pods"})}})}));
  if (g.below(8) != 0) spec.set("expression", g.below(60) == 0 ? "object." : g.expression());
  return std::make_shared<const Policy>(g.below(3) == 0 ? "ns" : "", cat("p", i),
                                        Value::object({{"spec", spec}}));
}

Value random_object(Chance& g) {
  if (g.below(6) == 0) return {};
  Value out = Value::object(
      {{"metadata",
        Value::object({{"name", g.pick({"x1", "y"})}, {"namespace", g.pick({"ns", "other"})}})}});
  if (g.below(2)) out.set("a", static_cast<std::int64_t>(g.below(3)));
  if (g.below(2)) out.set("b", Value::object({{"c", g.pick({"x", "y"})}}));
  if (g.below(2)) out.set("list", Value::array({static_cast<std::int64_t>(g.below(3)), 2, 3}));
  return out;
}

// The question, and all facts that are known later.
struct World {
  User user;
  std::string verb, name, operation;
  Value object, old_object, options, space;

  explicit World(Chance& g)
      : user{.name = g.pick({"alice", "bob", "carol"}), .groups = {g.pick({"dev", "ops"})}},
        verb(g.pick({"create", "update", "delete"})),
        name(g.pick({"", "x1", "y"})),
        operation(g.pick({"CREATE", "UPDATE"})),
        object(random_object(g)),
        old_object(random_object(g)) {
    if (g.below(2)) user.extra["scope"] = {g.pick({"s", "t"})};
    if (g.below(2)) options = Value::object({{"dryRun", Value::array({"All"})}});
    if (g.below(2))
      space = Value::object(
          {{"metadata",
            Value::object({{"labels", Value::object({{"env", g.pick({"p", "q"})}})}})}});
  }
  Attributes attributes() const {
    Attributes a(user);
    a.is_resource_request = true;
    a.verb = verb;
    a.api_version = "v1";
    a.resource = "pods";
    a.namespace_name = "ns";
    a.name = name;
    a.takes_conditions = true;
    return a;
  }
  std::string shown() const {
    return cat(operation, " object ", json::print(object), " oldObject ", json::print(old_object),
               " options ", json::print(options), " namespaceObject ", json::print(space));
  }
  ConditionData data() const {
    return {.operation = operation,
            .object = &object,
            .old_object = &old_object,
            .options = &options,
            .namespace_object = &space,
            .user = &user};
  }
};

// The answer of the policies of one level to a request about which everything is known. Written
// from the documentation of access policies, not from the code.
Kind at_once(const std::vector<PolicyPtr>& policies, const Attributes& asked,
             const Attributes& known, const Variables& variables, const Variables& with_name,
             bool of_namespace) {
  bool denies = false, abstains = false, allows = false;
  for (const PolicyPtr& p : policies) {
    // For a denial, the name of a request is the name of its object.
    bool is_denial = p->effect() == Effect::kDeny;
    if (p->namespace_name().empty() == of_namespace || !p->selects(is_denial ? known : asked))
      continue;
    bool holds = true, fails = false;
    if (!p->problem().empty()) {
      fails = p->effect() == Effect::kDeny;
      holds = false;
    } else if (p->program()) {
      cel::Evaluation evaluation;
      cel::Value v = evaluation.run(*p->program(), is_denial ? with_name : variables);
      holds = v.is_true();
      fails = !v.is_true() && !v.is_false();
    }
    if (p->effect() == Effect::kDeny) denies |= holds || fails;
    if (p->effect() == Effect::kNoOpinion) abstains |= holds || fails;
    if (p->effect() == Effect::kAllow) allows |= holds;
  }
  return denies     ? Kind::kDeny
         : abstains ? Kind::kNoOpinion
         : allows   ? Kind::kAllow
                    : Kind::kNoOpinion;
}

Decision settled(const AccessAuthorizer& authorizer, Decision d, const World& world) {
  if (d.kind != Kind::kConditional) return d;
  std::optional<Decision> out;
  ConditionData data = world.data();
  spawn(authorizer.evaluate(d.conditions, data), [&](Decision v) { out = std::move(v); });
  return std::move(*out);
}

// CARDEA_CONDITION_CASES sets the length of the run, CARDEA_CONDITION_SEED its beginning.
TEST(Access, TwoPhasesGiveWhatOneGivesWithRandomPolicies) {
  const char* asked = std::getenv("CARDEA_CONDITION_CASES");
  const char* first = std::getenv("CARDEA_CONDITION_SEED");
  const std::uint64_t cases = asked ? std::strtoull(asked, nullptr, 10) : 100'000;
  const std::uint64_t seed = first ? std::strtoull(first, nullptr, 10) : 1;
  const Snapshot<Index> none(std::make_shared<const Index>());
  AccessAuthorizer authorizer(none);
  Chance g(seed);
  std::vector<PolicyPtr> pool;
  std::uint64_t conditional = 0, allowed = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    if (i % 5000 == 0) {
      pool.clear();
      for (std::size_t k = 0; k < 150; ++k) pool.push_back(random_policy(g, k));
    }
    std::vector<PolicyPtr> chosen;
    Index index;
    for (std::size_t n = 1 + g.below(5); n > 0; --n) {
      const PolicyPtr& p = pool[g.below(pool.size())];
      if (std::ranges::find(chosen, p) != chosen.end()) continue;
      chosen.push_back(p);
      index.add(p);
    }
    World world(g);
    Attributes a = world.attributes();
    RequestValue request(a);
    Variables variables;
    variables[Language::kRequest] = request.get();
    access::bind(variables, world.data());  // not std::bind, which fits a temporary better
    variables[Language::kNamespaceObject] = json_or_null(world.data().space());
    Attributes known = a;
    const ConditionData data = world.data();
    if (known.name.empty()) known.name = data.object_name();
    RequestValue named(known);
    Variables with_name = variables;
    with_name[Language::kRequest] = named.get();
    Kind want = at_once(chosen, a, known, variables, with_name, false);
    if (want == Kind::kNoOpinion) want = at_once(chosen, a, known, variables, with_name, true);

    Decision d = decide(index, a);
    conditional += d.kind == Kind::kConditional;
    Decision got = settled(authorizer, d, world);
    allowed += got.allowed();
    ASSERT_EQ(got.kind, want) << "case " << i << " of seed " << seed << ": "
                              << json::print(wire::as_tree(d)) << " with " << world.shown()
                              << " gives " << got.reason.text() << got.error;
    ASSERT_TRUE(allows(possible_outcomes(d), got.kind)) << "case " << i << " of seed " << seed;
    // A caller that cannot take conditions is allowed only requests that every object would be
    // allowed for.
    if (folded(d).allowed()) {
      ASSERT_EQ(want, Kind::kAllow);
    }
    // A condition that is printed and parsed again has the same meaning.
    if (d.kind == Kind::kConditional && i % 16 == 0) {
      json::FieldErrors errors;
      auto read = wire::from_tree(wire::as_tree(d), "decision", errors, Author::kOwn);
      ASSERT_TRUE(read) << read.error().message;
      ASSERT_EQ(settled(authorizer, *read, world).kind, want)
          << "case " << i << " of seed " << seed << ", printed: " << json::print(wire::as_tree(d));
    }
  }
  EXPECT_GT(conditional, cases / 10);
  EXPECT_GT(allowed, cases / 20);
}

}  // namespace
}  // namespace cardea::authz::access
