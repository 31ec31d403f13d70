#include "rest/gateway.h"

#include <algorithm>

#include "authz/eligibility.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "catalog/kinds/names.h"
#include "catalog/permission_maps.h"
#include "http/websocket.h"
#include "net/watchdog.h"
#include "rest/aggregation/forward.h"
#include "rest/backups.h"
#include "rest/bridge/bridge.h"
#include "rest/catalog_holder.h"
#include "rest/freshness.h"
#include "rest/heavy_lanes.h"
#include "rest/policy/guard.h"
#include "rest/present/status.h"
#include "rest/unreadable_records.h"
#include "rest/verbs/subresources.h"
#include "rest/verbs/verbs.h"
#include "rest/write/blind_caller.h"
#include "rest/write/field_permissions.h"
#include "rest/write/write.h"

namespace cardea::rest {
namespace {

bool knows_group(const catalog::Catalog& catalog, std::string_view group, bool& is_custom) {
  for (const catalog::Group& g : catalog.groups())
    if (g.name == group) {
      is_custom = !g.versions.empty() && !g.versions[0].resources.empty() &&
                  g.versions[0].resources[0]->is_custom;
      return true;
    }
  return false;
}

// What a client should know about the resource it uses, whatever it does with it.
std::string deprecation(const catalog::Resource& r) {
  if (!r.is_custom) return std::string(r.deprecation);
  const json::Value& v = r.custom_version;
  if (!v["deprecated"].as_bool()) return "";
  if (std::string_view text = v["deprecationWarning"].as_string(); !text.empty())
    return std::string(text);
  return cat(r.api_version(), " ", r.kind, " is deprecated");
}

// Clients that ask for these protocols can do nothing with an ordinary answer, and an endless one
// would never tell them. Others, such as h2c, are a wish that may be ignored.
bool is_unserved_upgrade(const http::Request& request, const authz::RequestInfo& info) {
  if (!request.has_upgrade) return false;
  const bool is_websocket = http::asks_for_websocket(request.headers);
  if (!is_websocket && !http::asks_for_upgrade(request.headers, "SPDY/3.1")) return false;
  if (info.is_resource_request && info.verb == "watch") return !is_websocket;
  // Streams to nodes have their own answers.
  return !info.is_resource_request || info.subresource.empty();
}

Error unserved_upgrade(const http::Request& request) {
  return bad_request(cat("an upgrade of this request to ", quoted(request.headers.get("upgrade")),
                         " is not served"));
}

// Its labels say what is checked: nobody may write past a check because they cannot be read.
bool has_unreadable_namespace(const Call& call) {
  const std::string& verb = call.info.verb;
  if (verb == "get" || verb == "list" || verb == "watch" || !call.services.unreadable) return false;
  const store::RecordPtr space = call.services.store.get(
      cat("/registry/namespaces/", call.info.namespace_name));
  return space && call.services.unreadable->has(*space);
}

// The key of a record that may guard any field and that nobody can read; empty when there is none,
// or when it does not matter to this request. Administrators can mend it.
std::string unreadable_guard(const Call& call) {
  const std::string& verb = call.info.verb;
  if (!call.services.field_permissions || call.is_own || call.resource->storage_prefix.empty() ||
      (verb != "create" && verb != "update" && verb != "patch"))
    return "";
  const std::string& map = call.catalog->permission_maps()->unread();
  const std::string key = map.empty() ? call.services.field_permissions->uncovered()->unread()
                                      : map;
  const bool is_administrator = call.user.in_group(authz::kMastersGroup);
  return is_administrator ? "" : key;
}

struct Row {
  std::string_view verb;
  Task<Result<Answer>> (*run)(Call&);
};

constexpr Row kVerbs[] = {
    {"get", get},
    {"list", list},
    {"create", create},
    {"update", update},
    {"patch", patch},
    {"delete", remove},
    {"deletecollection", remove_collection},
};

}  // namespace

Task<Result<Answer>> Gateway::serve_resource(Call& call) {
  const authz::RequestInfo& info = call.info;
  bool is_custom_group = false;
  call.resource = call.catalog->find(info.api_group, info.api_version, info.resource);
  if (call.resource && call.resource->is_off && !call.is_own) call.resource = nullptr;
  if (!call.resource) {
    if (!knows_group(*call.catalog, info.api_group, is_custom_group) || is_custom_group)
      co_return text_answer(404, "404 page not found\n");
    co_return fail(unknown_resource());
  }
  const catalog::Resource& r = *call.resource;
  bool in_namespace = !info.namespace_name.empty() && info.resource != "namespaces";
  if (in_namespace && !r.namespaced) co_return fail(unknown_resource());
  if (r.namespaced && !in_namespace) {
    if (!info.name.empty() && info.verb != "list" && info.verb != "watch")
      co_return fail(unknown_resource());
    if (info.verb != "list" && info.verb != "watch") {
      if (r.is_custom) co_return text_answer(404, "404 page not found\n");
      co_return fail(method_not_allowed());
    }
  }
  if (info.parts.size() > 3 && info.subresource != "proxy") co_return fail(unknown_resource());
  if (in_namespace && !call.is_own && has_unreadable_namespace(call))
    co_return fail(internal_error(cat("the namespace ", quoted(info.namespace_name),
                                      " cannot be read, so nothing in it is changed")));
  if (std::string key = unreadable_guard(call); !key.empty())
    co_return fail(internal_error(
        cat("the record ", quoted(key),
            " cannot be read and may guard any field, so only administrators change objects")));

  if (!info.subresource.empty()) {
    call.subresource = r.subresource(info.subresource);
    if (!call.subresource)
      co_return fail(r.is_custom ? not_found(r, info.name) : unknown_resource());
  }
  // Reviews are answers to a question, with no metadata to make a table of.
  Offer offer{.transforms = !r.storage_prefix.empty() || r.is_computed(),
              .has_protobuf = r.has_protobuf,
              .is_custom = r.is_custom,
              .is_list = info.verb == "list" || info.verb == "watch",
              .is_watch = info.verb == "watch"};
  auto view = negotiate(call.request().headers.get("accept"), offer);
  // What a connection gives is the other side's to say.
  if (!view && authz::is_connection(authz::Attributes{call.user, info})) view = View{};
  if (!view) co_return fail(view.error());
  if (offer.is_watch && view->shape == View::Shape::kPartialList)
    co_return fail(Error::of(
        Reason::kNotAcceptable,
        "you requested PartialObjectMetadataList, but the requested object is not a list"));
  bool pretty = call.view.pretty;
  call.view = *view;
  call.view.pretty = pretty;

  if (auto wrong = catalog::name_is_path_segment(info.name, false);
      !info.name.empty() && !wrong.empty())
    co_return fail(
        bad_request(cat("Name parameter invalid: ", quoted(info.name), ": ", join(wrong, ";"))));
  if (call.subresource) {
    Result<Answer> answer = co_await serve_subresource(call);
    co_return answer;
  }
  bool is_named = !info.name.empty();
  // What is not kept has no members.
  if (is_named && r.storage_prefix.empty() && !r.is_computed()) co_return fail(unknown_resource());
  const bool changes = info.verb == "update" || info.verb == "patch";
  const bool fits = info.verb == "create" ? !is_named : is_named || !changes;
  if (r.is_custom && changes && !is_named) co_return fail(bad_request("name must be provided"));
  if (fits)
    if (std::optional<Error> why = policy::refused_verb(r, info.verb, info.name))
      co_return fail(std::move(*why));
  if (!fits || call.request().method == "HEAD" || info.verb.empty() || !r.has_verb(info.verb))
    co_return fail(method_not_allowed());
  if (auto warning = deprecation(r); !warning.empty()) call.warnings.push_back(std::move(warning));
  if (info.verb == "watch" && r.is_converted_by_webhook) {
    Result<Answer> answer = co_await watches_.watch_by_webhook(call);
    co_return answer;
  }
  if (info.verb == "watch") co_return watches_.watch(call);
  if (r.storage_prefix.empty()) {
    Result<Answer> answer = co_await serve_unstored(call);
    co_return answer;
  }
  for (const Row& row : kVerbs)
    if (row.verb == info.verb) {
      Result<Answer> answer = co_await row.run(call);
      co_return answer;
    }
  co_return fail(method_not_allowed());
}

Result<Answer> Gateway::describe(http::Request& request, const authz::RequestInfo& info) {
  if (auto found = description_.answer(request, info)) return std::move(*found);
  auto parts = split(std::string_view(info.path).substr(1), '/');
  bool is_custom = false;
  bool is_of_known_group = parts[0] == "api" ||
                           (parts[0] == "apis" && parts.size() > 1 &&
                            knows_group(*services_.catalog.get(), parts[1], is_custom));
  if (is_of_known_group && !is_custom) return fail(unknown_resource());
  return text_answer(404, "404 page not found\n");
}

Task<Result<Answer>> Gateway::serve_call(Call& call) {
  if (call.open.is_conditional())
    call.audit_annotations.set("authorization.k8s.io/is-conditional-decision", "true");
  if (call.open.acts_under_conditions())
    call.audit_annotations.set("impersonation.cardea.dev/is-conditional", "true");
  if (services_.shared && !call.is_own) {
    Result<void> ready = co_await confirm_decision(call);
    if (ready) ready = co_await make_fresh(call);
    if (!ready) co_return fail(ready.error());
  }
  std::optional<TraceSpan> span(std::in_place, call.trace.get(), "serve");
  Result<Answer> answer = co_await serve_resource(call);
  span.reset();
  count_judgement(call);
  // A verb that does not go through admission must not make a yes of a perhaps.
  const bool is_open = call.open.has_conditions() && !call.open.is_settled();
  if (is_open && answer && call.info.verb != "deletecollection") {
    constexpr std::string_view kOpen = "the conditions of this request were not settled";
    note_refusal(call, kOpen);
    answer = fail(authz::forbidden(authz::Attributes{call.user, call.info}, std::string(kOpen)));
  }
  if (tells_of_object(call, answer)) {
    bool blind = co_await is_blind(call);
    if (blind) answer = seen_blindly(call, std::move(answer));
  }
  if (!answer && call.open.refusal.is_object() &&
      call.open.refusal["message"].as_string() == answer.error().message) {
    Answer refused = Answer::of(std::move(call.open.refusal), status_code(answer.error()));
    refused.transforms = false;
    answer = std::move(refused);
  }
  co_return answer;
}

// Ends a request that takes too long. Made, used and destroyed on the loop of its connection, in
// the frame of the coroutine that serves it.
struct Gateway::Deadline {
  Deadline(net::Loop& loop, pipeline::Witness& w, const pipeline::Journey& j)
      : witness(w), journey(j), timer(loop, [this] { give_up(); }) {}

  void give_up() {
    static const authz::RequestInfo kNothing;
    const authz::RequestInfo* about = info            ? info
                                      : journey.asked ? &journey.asked->info
                                                      : &kNothing;
    if (!pipeline::is_long_running(*about)) witness.give_up(journey, *about);
  }
  // When it is known what is asked.
  Result<void> ask(const authz::RequestInfo& asked, std::chrono::milliseconds longest) {
    info = &asked;
    limit = longest;
    const auto wanted = asked.query.first("timeout");
    if (pipeline::is_long_running(asked)) {
      timer.cancel();
    } else if (wanted && !wanted->empty()) {
      const auto given = parse_duration(*wanted);
      if (!given)
        return fail(bad_request(
            cat("invalid timeout specified in the request URL - ", given.error().message)));
      if (given->count() > 0)
        start(limit = std::min(longest, std::chrono::ceil<std::chrono::milliseconds>(*given)));
    }
    return {};
  }
  void start(std::chrono::milliseconds time) {
    end = std::chrono::steady_clock::now() + time;
    timer.start(time);
  }
  // On another loop, where the request may have waited for its turn.
  void run_until(net::SteadyTime time) {
    const auto left = time - std::chrono::steady_clock::now();
    if (left <= left.zero()) return give_up();
    start(std::chrono::ceil<std::chrono::milliseconds>(left));
  }

  pipeline::Witness& witness;
  const pipeline::Journey& journey;
  const authz::RequestInfo* info = nullptr;
  std::chrono::milliseconds limit{0};
  net::Timer timer;
  net::SteadyTime end;
};

std::shared_ptr<const Remote> Gateway::remote_of(const authz::RequestInfo& info,
                                                 bool is_own) const {
  return is_own || !services_.aggregator ? nullptr : services_.aggregator->find(info);
}

namespace {

// For the watchdog of the loop.
void note_work(const Call& call) {
  net::WorkNote::of_this_thread().set(
      {call.exchange->request().method, call.info.path, "of", call.user.name});
}

}  // namespace

// The stations once more, for a request whose policy has changed before anything was stored.
struct Gateway::Redecision {
  explicit Redecision(std::unique_ptr<Redecision> earlier) : before(std::move(earlier)) {}

  const std::unique_ptr<Redecision> before;
  pipeline::Journey journey;
  std::optional<Call> call;  // unless the journey has come to its end
};

namespace {

// Whoever changes policy all the time does not keep a write for ever.
constexpr int kMostRedecisions = 32;

bool must_decide_again(const Call& call) {
  return call.has_policy_moved && !call.has_stored && call.sent;
}

}  // namespace

// False: the request is at its end. It keeps its seat.
Task<bool> Gateway::travel_again(Call& before, Redecision& again, pipeline::Witness& witness) {
  http::Exchange& exchange = *before.exchange;
  for (const http::Header header : before.sent->credentials)
    exchange.request().headers.add(header.name, header.value);
  pipeline::Stations stations = this->stations();
  stations.gate = nullptr;
  stations.traces = nullptr;  // the request has its trace
  bool done = co_await pipeline::travel(stations, exchange, again.journey);
  (void)done;
  witness.saw_again(again.journey);
  if (again.journey.end) co_return false;
  again.journey.seat = std::move(before.seat);
  again.call.emplace(make_call(before.exchange, again.journey, witness.frame, witness.trail()));
  co_return true;
}

// Where a request goes on that would hold the loop of its connection; its time goes on too.
Task<bool> Gateway::move_to(net::Loop* lane, http::Exchange& exchange,
                            std::optional<HeavyLanes::Stay>& stay,
                            std::optional<Deadline>& deadline, pipeline::Witness& witness,
                            const pipeline::Journey& journey) {
  if (!lane) co_return false;
  stay.emplace(*services_.heavy_lanes, *lane);
  std::optional<net::SteadyTime> end;
  if (deadline && deadline->timer.pending()) end = deadline->end;
  deadline.reset();  // its timer belongs to the loop
  exchange.work_on(*lane);
  bool there = co_await continue_on(*lane);
  if (end) {
    deadline.emplace(*lane, witness, journey);
    deadline->run_until(*end);
  }
  co_return there;
}

net::Loop* Gateway::lane_for(const Call& call) const {
  if (!services_.heavy_lanes || call.is_own) return nullptr;
  return services_.heavy_lanes->lane_for(call);
}

net::Loop* Gateway::lane_for(const authz::RequestInfo& info) const {
  return services_.heavy_lanes ? services_.heavy_lanes->lane_for(info) : nullptr;
}

Task<bool> Gateway::serve(std::shared_ptr<http::Exchange> exchange,
                          std::optional<authz::User> known) {
  net::WorkNote::of_this_thread().set({exchange->request().method, exchange->request().path});
  const bool is_own = known.has_value();
  pipeline::Witness witness(watchers_, services_, exchange);
  pipeline::Journey own;
  std::shared_ptr<http::Kept> kept = std::move(exchange->request().kept);
  auto* early = static_cast<pipeline::EarlyJourney*>(kept.get());
  pipeline::Journey& journey = early ? early->journey : own;
  std::optional<HeavyLanes::Stay> stay;
  std::optional<Deadline> deadline;
  if (request_timeout_.count() > 0 && !is_own && exchange->loop().in_loop()) {
    deadline.emplace(exchange->loop(), witness, journey);
    deadline->start(request_timeout_);
  }
  if (early) {
    bool done = co_await early->finish(stations(), *exchange);
    (void)done;
  } else {
    if (known) own.acting = pipeline::Acting{std::move(*known)};
    bool done = co_await pipeline::travel(stations(), *exchange, own);
    (void)done;
  }
  static const authz::RequestInfo kNothing;
  const authz::RequestInfo& info = journey.asked ? journey.asked->info : kNothing;
  witness.flow = journey.seat.flow();
  bool is_recorded = co_await witness.saw(journey);
  Result<void> in_time;
  if (deadline) in_time = deadline->ask(info, request_timeout_);
  if (witness.has_given_up()) {
    // Nothing has begun, and nothing does: the client was told that it took too long.
    witness.respond(pipeline::too_late(), journey, info);
  } else if (!is_recorded) {
    witness.respond(
        pipeline::internal_error_text(exchange->request(), "failed to store audit event"), journey,
        info);
  } else if (journey.end) {
    witness.respond(std::move(journey.end->answer), journey, info);
  } else if (!in_time) {
    witness.respond(fail(in_time.error()), journey, info);
  } else if (auto remote = remote_of(info, is_own); remote) {
    // It has its own limits, which end the call to the other server, too.
    if (deadline) deadline->timer.cancel();
    Call call = make_call(exchange, journey, witness.frame, witness.trail());
    witness.user = &call.user;
    const std::chrono::milliseconds limit = deadline ? deadline->limit
                                                     : std::chrono::milliseconds(0);
    Result<void> confirmed;
    if (services_.shared) confirmed = co_await confirm_decision(call);
    Result<Answer> answer = Answer();
    if (confirmed)
      answer = co_await forward(call, *services_.aggregator, std::move(remote), limit);
    else
      answer = fail(confirmed.error());
    witness.saw(call);
    if (answer && answer->is_streaming)
      witness.streams(journey, call, answer->status);
    else
      witness.respond(std::move(answer), journey, call.info);
  } else if (is_unserved_upgrade(exchange->request(), info)) {
    witness.respond(fail(unserved_upgrade(exchange->request())), journey, info);
  } else if (services_.bridge && bridge::Bridge::serves(info)) {
    Call call = make_call(exchange, journey, witness.frame, witness.trail());
    if (deadline) deadline->info = &call.info;
    witness.user = &call.user;
    Result<void> confirmed;
    if (services_.shared) confirmed = co_await confirm_decision(call);
    Result<Answer> answer = Answer();
    if (confirmed)
      answer = co_await services_.bridge->admit(call);
    else
      answer = fail(confirmed.error());
    witness.respond(std::move(answer), journey, call.info);
    if (deadline) deadline->timer.cancel();
  } else if (services_.backups && Backups::serves(info)) {
    // It takes as long as the client reads.
    if (deadline) deadline->timer.cancel();
    Call call = make_call(exchange, journey, witness.frame, witness.trail());
    witness.user = &call.user;
    Result<Answer> answer = co_await services_.backups->serve(call);
    witness.saw(call);
    if (answer && answer->is_streaming)
      witness.streams(journey, call, answer->status);
    else
      witness.respond(std::move(answer), journey, call.info);
  } else if (!info.is_resource_request) {
    bool moved = co_await move_to(lane_for(info), *exchange, stay, deadline, witness, journey);
    (void)moved;
    witness.frame.view.format = SelfDescription::format_of(exchange->request(), info);
    witness.respond(describe(exchange->request(), info), journey, info);
  } else {
    Call call = make_call(exchange, journey, witness.frame, witness.trail());
    call.is_own = is_own;
    bool moved = co_await move_to(lane_for(call), *exchange, stay, deadline, witness, journey);
    if (deadline) deadline->info = &call.info;
    witness.user = &call.user;
    note_work(call);
    Result<Answer> answer = pipeline::too_late();
    // Whoever waited too long for a lane was told so, and nothing begins.
    const bool is_late = moved && witness.has_given_up();
    if (!is_late) answer = co_await serve_call(call);
    // The deadline and the witness know earlier calls, so they are kept.
    std::unique_ptr<Redecision> again;
    Call* served = &call;
    for (int round = 0; round < kMostRedecisions && must_decide_again(*served); ++round) {
      again = std::make_unique<Redecision>(std::move(again));
      bool decided = co_await travel_again(*served, *again, witness);
      if (!decided) break;
      served = &*again->call;
      if (deadline) deadline->info = &served->info;
      witness.user = &served->user;
      answer = pipeline::too_late();
      if (!witness.has_given_up()) answer = co_await serve_call(*served);
    }
    const bool is_ended = again && again->journey.end;
    if (is_ended) answer = std::move(again->journey.end->answer);
    const pipeline::Journey& last = is_ended ? again->journey : journey;
    note_work(*served);
    witness.saw(*served);
    if (answer && answer->is_streaming) {
      witness.streams(last, *served, answer->status);
    } else {
      witness.frame.view = served->view;
      witness.frame.catalog = served->catalog.get();
      witness.frame.resource = served->resource;
      witness.frame.include_object = served->info.query.first("includeObject").value_or("");
      witness.respond(std::move(answer), last, served->info, served->warnings);
    }
    if (deadline && !exchange->loop().in_loop()) {
      // The timer belongs to the loop, and knows the call.
      bool back = co_await continue_on(exchange->loop());
      (void)back;
    }
    if (deadline) deadline->timer.cancel();
  }
  co_return true;
}

Call Gateway::make_call(std::shared_ptr<http::Exchange> exchange, pipeline::Journey& journey,
                        const Frame& frame, std::shared_ptr<AuditTrail> trail) const {
  pipeline::Decided& decided = *journey.decided;
  return Call{.exchange = std::move(exchange),
              .services = services_,
              .info = std::move(journey.asked->info),
              .user = std::move(journey.acting->user),
              .chain = std::move(decided.chain),
              .catalog = services_.catalog.get(),
              .resource = nullptr,
              .view = frame.view,
              .started = StartTime(frame.now),
              .trail = std::move(trail),
              .trace = journey.trace,
              .policy_revision = decided.policy_revision,
              .policy_as_of = decided.policy_as_of,
              .sent = std::move(journey.sent),
              .reconsiders = this,
              .seat = std::move(journey.seat),
              .open = Settlement(std::move(*decided.verdict.permit), decided.is_granular,
                                 std::move(journey.acting->open))};
}

namespace {

// A request that is decided about and not served.
class Hypothetical : public http::Exchange {
 public:
  Hypothetical(net::Loop& loop, http::Request request) : Exchange(loop) {
    request_ = std::move(request);
  }
  void respond(http::Response) override {}
  std::shared_ptr<http::Stream> stream(http::Response) override { return nullptr; }
  void on_close(net::Callback) override {}
};

// A failure to decide is a Standing of its own: the permission has not gone for certain.
Standing standing(Error why) {
  const bool is_refusal = why.reason == Reason::kForbidden || why.reason == Reason::kUnauthorized;
  return {is_refusal ? Standing::Kind::kGone : Standing::Kind::kUnknown, std::move(why)};
}

}  // namespace

Task<Standing> Gateway::reconsider(net::Loop& loop, const StreamQuestion& question) const {
  auto exchange = std::make_shared<Hypothetical>(loop, question.sent->again());
  pipeline::Journey journey;
  pipeline::Stations stations = this->stations();
  stations.keeps_questions = stations.keeps_reasons = false;
  stations.gate = nullptr;  // it holds no seat any more
  stations.traces = nullptr;
  bool done = co_await pipeline::travel(stations, *exchange, journey);
  (void)done;
  if (journey.end) {
    if (!journey.end->answer) co_return standing(journey.end->answer.error());
    co_return standing(internal_error("the request cannot be decided about"));
  }
  Call call = make_call(exchange, journey, Frame{.now = services_.clock.now()}, nullptr);
  if (services_.shared) {
    Result<void> sure = co_await confirm_decision(call);
    if (!sure) co_return standing(sure.error());
  }
  if (!authz::is_connection(authz::Attributes{call.user, call.info}))
    co_return Standing{Standing::Kind::kGood};
  call.resource = call.catalog->find(call.info.api_group, call.info.api_version,
                                     call.info.resource);
  if (!call.resource) co_return standing(authz::forbidden({call.user, call.info}, "it is gone"));
  Result<void> may = co_await may_still_connect(call, question.options);
  if (!may) co_return standing(may.error());
  co_return Standing{Standing::Kind::kGood};
}

pipeline::Stations Gateway::stations() const {
  return {.services = services_,
          .authenticators = authenticators_,
          .impersonator = *impersonator_,
          .keeps_reasons = watchers_.log || watchers_.auditor,
          .keeps_questions = services_.open_streams && services_.open_streams->is_on(),
          .gate = services_.gate,
          .traces = watchers_.traces};
}

bool Gateway::wants_body(const std::shared_ptr<http::Exchange>& exchange) const {
  auto early = pipeline::EarlyJourney::begin(stations(), exchange);
  bool is_refused = early->journey.end.has_value();
  exchange->request().kept = std::move(early);
  return !is_refused;
}

void Gateway::handle(std::shared_ptr<http::Exchange> exchange) {
  spawn(serve(std::move(exchange), std::nullopt), [](bool) {});
}

void Gateway::handle_as(std::shared_ptr<http::Exchange> exchange, authz::User user) {
  spawn(serve(std::move(exchange), std::move(user)), [](bool) {});
}

}  // namespace cardea::rest
