#include "cardea/c.h"

#include <cstring>
#include <new>

#include "cardea/cardea.h"
#include "json/print.h"
#include "json/value.h"

using cardea::json::Value;
namespace v1 = cardea::v1;

// Texts that are lent out live beside what they were made of.
struct cardea_engine {
  explicit cardea_engine(v1::Options options) : engine(std::move(options)) {}
  v1::Engine engine;
};
struct cardea_request {
  v1::Request request;
};
struct cardea_change {
  v1::Change change;
};
struct cardea_decision {
  explicit cardea_decision(v1::Decision d)
      : decision(std::move(d)),
        reason(decision.reason()),
        error(decision.error()),
        conditions(decision.conditions()) {}
  v1::Decision decision;
  std::string reason, error;
  std::vector<v1::Condition> conditions;
};
struct cardea_judgement {
  v1::FieldJudgement judgement;
};
struct cardea_program {
  explicit cardea_program(v1::Program p) : program(std::move(p)), type(program.type()) {}
  v1::Program program;
  std::string type;
};
struct cardea_bindings {
  v1::Bindings bindings;
};
struct cardea_residual {
  explicit cardea_residual(v1::Residual r) : residual(std::move(r)), text(residual.text()) {}
  v1::Residual residual;
  std::string text;
};

namespace {

char* copy(const std::string& text) noexcept {
  char* out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out) std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

void tell(char** error, const std::string& message) noexcept {
  if (error) *error = copy(message);
}

// Runs `work`, which gives `failed` when it fails. What it throws, which can only be for want of
// memory, ends here.
template <typename T, typename Work>
T attempt(char** error, T failed, Work work) noexcept {
  if (error) *error = nullptr;
  try {
    return work();
  } catch (...) {
    tell(error, "out of memory");
    return failed;
  }
}

template <typename T, typename... Args>
T* make(Args&&... args) noexcept {
  try {
    return new T{std::forward<Args>(args)...};
  } catch (...) {
    return nullptr;
  }
}

template <typename Work>
int set_to(bool is_given, Work work) noexcept {
  if (!is_given) return 0;
  return attempt(nullptr, 0, [&] { return work() ? 1 : 0; });
}

std::string* field_of(v1::Request& r, int field) {
  switch (field) {
    case CARDEA_USER:
      return &r.user.name;
    case CARDEA_UID:
      return &r.user.uid;
    case CARDEA_VERB:
      return &r.verb;
    case CARDEA_GROUP:
      return &r.group;
    case CARDEA_API_VERSION:
      return &r.version;
    case CARDEA_RESOURCE:
      return &r.resource;
    case CARDEA_SUBRESOURCE:
      return &r.subresource;
    case CARDEA_NAMESPACE:
      return &r.namespace_name;
    case CARDEA_NAME:
      return &r.name;
    case CARDEA_FIELD_SELECTOR:
      return &r.field_selector;
    case CARDEA_LABEL_SELECTOR:
      return &r.label_selector;
    case CARDEA_PATH:
      return &r.path;
    default:
      return nullptr;
  }
}

std::string* field_of(v1::Change& c, int field) {
  switch (field) {
    case CARDEA_OPERATION:
      return &c.operation;
    case CARDEA_OBJECT:
      return &c.object;
    case CARDEA_OLD_OBJECT:
      return &c.old_object;
    case CARDEA_OPTIONS:
      return &c.options;
    case CARDEA_NAMESPACE_OBJECT:
      return &c.namespace_object;
    default:
      return nullptr;
  }
}

Value array_of(const std::vector<std::string>& texts) {
  std::vector<Value> items(texts.begin(), texts.end());
  return Value::array(std::move(items));
}

constexpr const char* kNull = "an argument that is needed is NULL";

// Only to be called with handles that are there.
long loaded(v1::Result<std::size_t> result, char** error) {
  if (result) return static_cast<long>(*result);
  tell(error, result.error().message);
  return -1;
}

char* value_text(const v1::Result<v1::Value>& value, std::uint64_t* cost, char** error) {
  if (!value) {
    tell(error, value.error().message);
    return nullptr;
  }
  if (cost) *cost = value->cost;
  return copy(value->text);
}

v1::Bindings bindings_of(const cardea_bindings* bindings) {
  return bindings ? bindings->bindings : v1::Bindings();
}

}  // namespace

extern "C" {

const char* cardea_version(void) {
  return CARDEA_VERSION;
}

void cardea_string_free(char* text) {
  std::free(text);
}

cardea_engine* cardea_engine_new(int masters, const char* master_namespace) {
  return attempt<cardea_engine*>(nullptr, nullptr, [&] {
    v1::Options options;
    options.masters = masters != 0;
    if (master_namespace) options.master_namespace = master_namespace;
    return new cardea_engine(std::move(options));
  });
}

void cardea_engine_free(cardea_engine* engine) {
  delete engine;
}

long cardea_engine_load(cardea_engine* engine, const char* documents, char** error) {
  return attempt(error, -1L, [&] {
    if (engine && documents) return loaded(engine->engine.load(documents), error);
    tell(error, kNull);
    return -1L;
  });
}

long cardea_engine_remove(cardea_engine* engine, const char* documents, char** error) {
  return attempt(error, -1L, [&] {
    if (engine && documents) return loaded(engine->engine.remove(documents), error);
    tell(error, kNull);
    return -1L;
  });
}

cardea_request* cardea_request_new(void) {
  return make<cardea_request>();
}
void cardea_request_free(cardea_request* request) {
  delete request;
}

int cardea_request_set(cardea_request* request, int field, const char* value) {
  return set_to(request && value, [&] {
    std::string* at = field_of(request->request, field);
    if (at) *at = value;
    return at != nullptr;
  });
}

int cardea_request_add_group(cardea_request* request, const char* group) {
  return set_to(request && group, [&] {
    request->request.user.groups.emplace_back(group);
    return true;
  });
}

int cardea_request_add_extra(cardea_request* request, const char* key, const char* value) {
  return set_to(request && key && value, [&] {
    request->request.user.extra[key].emplace_back(value);
    return true;
  });
}

cardea_change* cardea_change_new(void) {
  return make<cardea_change>();
}
void cardea_change_free(cardea_change* change) {
  delete change;
}

int cardea_change_set(cardea_change* change, int field, const char* value) {
  return set_to(change && value, [&] {
    std::string* at = field_of(change->change, field);
    if (at) *at = value;
    return at != nullptr;
  });
}

int cardea_change_set_dry_run(cardea_change* change, int dry_run) {
  return set_to(change != nullptr, [&] {
    change->change.dry_run = dry_run != 0;
    return true;
  });
}

cardea_decision* cardea_engine_ask(const cardea_engine* engine, const cardea_request* request,
                                   int conditions) {
  return attempt<cardea_decision*>(nullptr, nullptr, [&] {
    if (!engine || !request) return new cardea_decision(v1::Decision());
    return new cardea_decision(conditions ? engine->engine.ask(request->request)
                                          : engine->engine.ask_unconditionally(request->request));
  });
}

cardea_decision* cardea_decision_settle(const cardea_decision* decision,
                                        const cardea_change* change) {
  return attempt<cardea_decision*>(nullptr, nullptr, [&] {
    if (!decision) return new cardea_decision(v1::Decision());
    return new cardea_decision(decision->decision.settle(change ? change->change : v1::Change()));
  });
}

void cardea_decision_free(cardea_decision* decision) {
  delete decision;
}

int cardea_decision_outcome(const cardea_decision* decision) {
  if (!decision) return CARDEA_DENY;
  switch (decision->decision.outcome()) {
    case v1::Outcome::kAllow:
      return CARDEA_ALLOW;
    case v1::Outcome::kNoOpinion:
      return CARDEA_NO_OPINION;
    case v1::Outcome::kConditional:
      return CARDEA_CONDITIONAL;
    case v1::Outcome::kDeny:
      break;
  }
  return CARDEA_DENY;
}

int cardea_decision_allowed(const cardea_decision* decision) {
  return cardea_decision_outcome(decision) == CARDEA_ALLOW ? 1 : 0;
}

const char* cardea_decision_reason(const cardea_decision* decision) {
  return decision ? decision->reason.c_str() : "";
}

const char* cardea_decision_error(const cardea_decision* decision) {
  return decision ? decision->error.c_str() : "there is no decision";
}

size_t cardea_decision_condition_count(const cardea_decision* decision) {
  return decision ? decision->conditions.size() : 0;
}

const char* cardea_decision_condition(const cardea_decision* decision, size_t index, int field) {
  if (!decision || index >= decision->conditions.size()) return nullptr;
  const v1::Condition& c = decision->conditions[index];
  switch (field) {
    case CARDEA_CONDITION_AUTHORIZER:
      return c.authorizer.c_str();
    case CARDEA_CONDITION_ID:
      return c.id.c_str();
    case CARDEA_CONDITION_EFFECT:
      return v1::name_of(c.effect);
    case CARDEA_CONDITION_TYPE:
      return c.type.c_str();
    case CARDEA_CONDITION_EXPRESSION:
      return c.expression.c_str();
    case CARDEA_CONDITION_DESCRIPTION:
      return c.description.c_str();
    default:
      return nullptr;
  }
}

char* cardea_engine_explain(const cardea_engine* engine, const cardea_request* request,
                            char** error) {
  return attempt<char*>(error, nullptr, [&]() -> char* {
    if (engine && request) return copy(engine->engine.explain(request->request).text);
    tell(error, kNull);
    return nullptr;
  });
}

char* cardea_engine_field_demands(const cardea_engine* engine, const cardea_request* request,
                                  const cardea_change* change, char** error) {
  return attempt<char*>(error, nullptr, [&]() -> char* {
    if (!engine || !request || !change) {
      tell(error, kNull);
      return nullptr;
    }
    auto demands = engine->engine.field_demands(request->request, change->change);
    if (!demands) {
      tell(error, demands.error().message);
      return nullptr;
    }
    std::vector<Value> out;
    for (const v1::FieldDemand& d : *demands)
      out.push_back(Value::object({{"field", d.field},
                                   {"coveredBy", array_of(d.covered_by)},
                                   {"needed", array_of(d.needed)},
                                   {"unnamed", d.unnamed}}));
    return copy(cardea::json::print(Value::array(std::move(out))));
  });
}

cardea_judgement* cardea_engine_judge_fields(const cardea_engine* engine,
                                             const cardea_request* request,
                                             const cardea_change* change, char** error) {
  return attempt<cardea_judgement*>(error, nullptr, [&]() -> cardea_judgement* {
    if (!engine || !request || !change) {
      tell(error, kNull);
      return nullptr;
    }
    auto judgement = engine->engine.judge_fields(request->request, change->change);
    if (judgement) return new cardea_judgement{*judgement};
    tell(error, judgement.error().message);
    return nullptr;
  });
}

void cardea_judgement_free(cardea_judgement* judgement) {
  delete judgement;
}
int cardea_judgement_allowed(const cardea_judgement* judgement) {
  return judgement && judgement->judgement.allowed ? 1 : 0;
}
const char* cardea_judgement_reason(const cardea_judgement* judgement) {
  return judgement ? judgement->judgement.reason.c_str() : "";
}
const char* cardea_judgement_field(const cardea_judgement* judgement) {
  return judgement ? judgement->judgement.field.c_str() : "";
}
const char* cardea_judgement_missing_verb(const cardea_judgement* judgement) {
  return judgement ? judgement->judgement.missing_verb.c_str() : "";
}

cardea_program* cardea_program_compile(const char* expression, const char* const* variables,
                                       size_t count, char** error) {
  return attempt<cardea_program*>(error, nullptr, [&]() -> cardea_program* {
    if (!expression || (count > 0 && !variables)) {
      tell(error, kNull);
      return nullptr;
    }
    std::vector<v1::Variable> declared;
    for (std::size_t i = 0; i < count; ++i) {
      std::string text = variables[i] ? variables[i] : "";
      auto space = text.find(' ');
      if (space == text.npos)
        declared.push_back({text, "dyn"});
      else
        declared.push_back({text.substr(0, space), text.substr(space + 1)});
    }
    auto program = v1::Program::compile(expression, declared);
    if (program) return new cardea_program(*program);
    tell(error, program.error().message);
    return nullptr;
  });
}

void cardea_program_free(cardea_program* program) {
  delete program;
}
const char* cardea_program_type(const cardea_program* program) {
  return program ? program->type.c_str() : "";
}

cardea_bindings* cardea_bindings_new(void) {
  return make<cardea_bindings>();
}
void cardea_bindings_free(cardea_bindings* bindings) {
  delete bindings;
}
int cardea_bindings_set(cardea_bindings* bindings, const char* variable, const char* json) {
  return set_to(bindings && variable && json, [&] {
    bindings->bindings[variable] = json;
    return true;
  });
}

char* cardea_program_evaluate(const cardea_program* program, const cardea_bindings* bindings,
                              uint64_t cost_limit, uint64_t* cost, char** error) {
  return attempt<char*>(error, nullptr, [&]() -> char* {
    if (program)
      return value_text(program->program.evaluate(bindings_of(bindings), cost_limit), cost, error);
    tell(error, kNull);
    return nullptr;
  });
}

cardea_residual* cardea_program_partially_evaluate(const cardea_program* program,
                                                   const cardea_bindings* bindings,
                                                   const char* const* unknown, size_t unknown_count,
                                                   uint64_t cost_limit, char** error) {
  return attempt<cardea_residual*>(error, nullptr, [&]() -> cardea_residual* {
    if (!program || (unknown_count > 0 && !unknown)) {
      tell(error, kNull);
      return nullptr;
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < unknown_count; ++i)
      names.emplace_back(unknown[i] ? unknown[i] : "");
    auto residual = program->program.partially_evaluate(bindings_of(bindings), names, cost_limit);
    if (residual) return new cardea_residual(*residual);
    tell(error, residual.error().message);
    return nullptr;
  });
}

void cardea_residual_free(cardea_residual* residual) {
  delete residual;
}
int cardea_residual_is_value(const cardea_residual* residual) {
  return residual && residual->residual.is_value() ? 1 : 0;
}
const char* cardea_residual_text(const cardea_residual* residual) {
  return residual ? residual->text.c_str() : "";
}

char* cardea_residual_evaluate(const cardea_residual* residual, const cardea_bindings* bindings,
                               uint64_t cost_limit, uint64_t* cost, char** error) {
  return attempt<char*>(error, nullptr, [&]() -> char* {
    if (residual)
      return value_text(residual->residual.evaluate(bindings_of(bindings), cost_limit), cost,
                        error);
    tell(error, kNull);
    return nullptr;
  });
}

}  // extern "C"
