// get and list: answers from memory, where possible the stored bytes themselves.
#include <algorithm>

#include "base/strings.h"
#include "json/print.h"
#include "rest/audit_trail.h"
#include "rest/conversion/versions.h"
#include "rest/present/status.h"
#include "rest/present/stored_protobuf.h"
#include "rest/unreadable_records.h"
#include "rest/verbs/continue_token.h"
#include "rest/verbs/options.h"
#include "rest/verbs/request_match.h"
#include "rest/verbs/selection.h"
#include "rest/verbs/verbs.h"
#include "rest/write/object_rules.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {

using catalog::Resource;
using json::Value;

namespace {

// The revision a read must reflect at least, checked against what there is.
Result<void> check_not_in_the_future(const store::Store& store, store::Revision wanted) {
  store::Revision current = store.current_revision();
  if (wanted <= current) return {};
  return fail(Error::of(Reason::kTimeout, cat("Timeout: Too large resource version: ", wanted,
                                              ", current: ", current))
                  .with({.causes = {{"ResourceVersionTooLarge", "Too large resource version", ""}},
                         .retry_after_seconds = 1}));
}

bool is_stored_as_asked(const Call& call) {
  return call.resource->storage_version == call.resource->version &&
         call.resource->storage_group == call.resource->group && !call.resource->is_custom;
}

// Whether the answer is what is kept with the records. An audit event needs it as text.
bool is_kept_protobuf(const Call& call) {
  return call.view.is_plain_protobuf() && call.resource->has_protobuf && is_stored_as_asked(call) &&
         !(call.trail && call.trail->shows_answers());
}

Answer protobuf_answer(http::Body body) {
  Answer answer;
  answer.is_raw = true;
  answer.content_type = kProtobufType;
  answer.body = std::move(body);
  return answer;
}

// The state that a page belongs to is gone. The client may go on from the same key in today's
// state.
Answer expired_page(const ContinueToken& token) {
  Error error = Error::of(
      Reason::kExpired,
      "The provided continue parameter is too old to display a consistent list result. You can "
      "start "
      "a new list without the continue parameter, or use the continue token in this response to "
      "retrieve the remainder of the results. Continuing with the provided token results in an "
      "inconsistent list - objects that were created, modified, or deleted between the time the "
      "first chunk was returned and now may show up in the list.");
  Value status = status_document(error);
  status.member("metadata").set("continue", encode({-1, token.start}));
  Answer answer = Answer::of(std::move(status), status_code(error));
  answer.transforms = false;
  return answer;
}

Error expired_revision() {
  return Error::of(Reason::kExpired, "The resourceVersion for the provided list is too old.");
}

// What a page of a list asks of the store.
struct Page {
  store::RangeQuery query;
  std::string prefix;
  std::optional<ContinueToken> token;
};

Result<Page> plan(Call& call, const ListOptions& o, const Selection& selection) {
  Page page;
  page.prefix = collection_prefix(*call.resource, call.info.namespace_name);
  page.query.keys = keys_of(*call.resource, call.info.namespace_name, selection);
  if (o.limit > 0) page.query.limit = static_cast<std::size_t>(o.limit);
  if (!o.continue_token.empty()) {
    if (!o.resource_version.empty() && o.resource_version != "0")
      return fail(bad_request("specifying resource version is not allowed when using continue"));
    auto token = decode_continue(o.continue_token);
    if (!token) return fail(token.error());
    page.query.keys.start = std::max(page.query.keys.start, page.prefix + token->start);
    page.query.at = std::max<store::Revision>(token->revision, 0);
    page.token = std::move(*token);
    return page;
  }
  auto revision = parse_revision(o.resource_version);
  if (!revision)
    return fail(bad_request(cat("invalid resource version: resourceVersion: Invalid value: ",
                                quoted(o.resource_version), ": ", revision.error().message)));
  if (auto ok = check_not_in_the_future(call.services.store, *revision); !ok)
    return fail(ok.error());
  if (o.resource_version == "0")
    page.query.limit = 0;  // any state will do, so all of it comes at once
  bool exact = o.match == ListOptions::Match::kExact ||
               (o.match == ListOptions::Match::kUnset && page.query.limit && *revision > 0);
  if (exact) page.query.at = *revision;
  return page;
}

bool is_unreadable(const Call& call, const store::Record& record) {
  return call.services.unreadable && call.services.unreadable->has(record);
}

// The objects of a page.
struct Selected {
  std::vector<store::RecordPtr> records;
  std::vector<Value> objects;  // parsed and converted; empty when nothing needed it
  store::Revision revision = 0;
  bool more = false;
  std::int64_t remaining = 0;
  std::string next;
};

// Reads on until `limit` matching objects are found, so that a page of a selected list is full.
class Reader {
 public:
  // Reads `at_least` so many at once where most may not be selected.
  Reader(Call& call, const Page& page, const Selection& selection, std::size_t at_least = 0)
      : call_(call), selection_(selection), query_(page.query), limit_(page.query.limit) {
    if (limit_ && !selection.selects_all()) query_.limit = std::max(limit_, at_least);
  }

  Result<store::RangeResult> next() {
    auto range = call_.services.store.range(query_);
    if (!range)
      return fail(range.error().reason == Reason::kExpired ? expired_revision() : range.error());
    out.revision = range->revision;
    query_.at = range->revision;
    return range;
  }

  // False: the page is complete. `object_of` gives the object of a record; null when nothing needs
  // the objects.
  template <typename ObjectOf>
  bool take(store::RangeResult range, ObjectOf object_of) {
    std::string last_key(range.records.empty() ? std::string_view() : range.records.back()->key());
    out.more = range.more;
    out.remaining = range.remaining;
    for (std::size_t i = 0; i < range.records.size(); ++i) {
      if (is_unreadable(call_, *range.records[i])) {
        call_.warnings.push_back(unreadable(range.records[i]->key()).message);
        continue;
      }
      if constexpr (std::is_null_pointer_v<ObjectOf>) {
        out.records.push_back(std::move(range.records[i]));
        continue;
      } else {
        Value object = object_of(i, *range.records[i]);
        if (!selection_.matches(object)) continue;
        out.objects.push_back(std::move(object));
      }
      out.records.push_back(std::move(range.records[i]));
      if (limit_ && out.records.size() == limit_) {
        out.more = i + 1 < range.records.size() || range.more;
        return false;
      }
    }
    query_.keys.start = last_key + '\0';
    return range.more && !(limit_ && out.records.size() >= limit_);
  }

  Selected out;

 private:
  Call& call_;
  const Selection& selection_;
  store::RangeQuery query_;
  const std::size_t limit_;
};

Result<Selected> select(Call& call, const Page& page, const Selection& selection,
                        bool need_objects) {
  Reader reader(call, page, selection);
  const Resource* storage = call.catalog->storage_of(*call.resource);
  const bool parses = need_objects || !selection.selects_all();
  for (;;) {
    auto range = reader.next();
    if (!range) return fail(range.error());
    auto object_of = [&](std::size_t, const store::Record& record) {
      // Others than the one that is asked for need not be read to know that they are not it.
      if (!is_key_of(record.key(), selection.name())) return Value();
      return converted(parse_stored(record), *storage, *call.resource);
    };
    const bool goes_on = parses ? reader.take(std::move(*range), object_of)
                                : reader.take(std::move(*range), nullptr);
    if (!goes_on) return std::move(reader.out);
  }
}

// The same where a webhook converts the objects: those of a range in one review. A caller who asks
// for one name may be allowed no other: others are neither shown to the webhook, nor can the
// webhook fail the request because of them.
Task<Result<Selected>> select_by_webhook(Call& call, const Page& page, const Selection& selection) {
  constexpr std::size_t kInOneReview = 500;
  Reader reader(call, page, selection, kInOneReview);
  const Resource& storage = *call.catalog->storage_of(*call.resource);
  for (;;) {
    auto range = reader.next();
    if (!range) co_return fail(range.error());
    std::vector<Value> stored;
    std::vector<bool> is_asked_for;
    for (const store::RecordPtr& record : range->records) {
      is_asked_for.push_back(is_key_of(record->key(), call.info.name) &&
                             !is_unreadable(call, *record));
      if (is_asked_for.back()) stored.push_back(parse_stored(*record));
    }
    Result<std::vector<Value>> objects = co_await convert_all(call, std::move(stored), storage,
                                                              *call.resource);
    if (!objects) co_return fail(objects.error());
    std::size_t next = 0;
    auto object_of = [&](std::size_t i, const store::Record&) {
      return is_asked_for[i] ? std::move((*objects)[next++]) : Value();
    };
    if (!reader.take(std::move(*range), object_of)) co_return std::move(reader.out);
  }
}

Value list_metadata(const Selected& s, const Page& page, const Selection& selection,
                    bool is_unstructured) {
  Value metadata = Value::object({{"resourceVersion", std::to_string(s.revision)}});
  if (!s.more) {
    if (is_unstructured) metadata.set("continue", "");  // such a list always says so
    return metadata;
  }
  std::string_view last = s.records.back()->key();
  std::string start(last.substr(page.prefix.size()));
  metadata.set("continue", encode({s.revision, start + '\0'}));
  if (selection.selects_all()) metadata.set("remainingItemCount", s.remaining);
  return metadata;
}

// The whole list as bytes, items copied from the store as they lie there.
http::Body list_bytes(const Call& call, const Selected& s, const Value& metadata) {
  std::string out;
  std::size_t size = 200;
  for (const auto& r : s.records) size += r->value().size() + 48;
  out.reserve(size);
  out += "{\"kind\":";
  json::print_string_to(out, call.resource->list_kind);
  out += ",\"apiVersion\":";
  json::print_string_to(out, call.resource->api_version());
  out += ",\"metadata\":";
  json::print_to(out, metadata);
  out += ",\"items\":[";
  for (std::size_t i = 0; i < s.records.size(); ++i) {
    if (i) out += ',';
    append_stored(out, *s.records[i], !call.resource->is_custom);
  }
  out += "]}\n";
  return http::Body(std::move(out));
}

http::Body protobuf_list(const Call& call, const Selected& s, const Value& metadata) {
  const schema::Schema* list_meta = call.catalog->type(
      "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta");
  CARDEA_CHECK(list_meta);
  std::vector<std::string_view> items;
  items.reserve(s.records.size());
  for (const auto& r : s.records) items.push_back(stored_protobuf(*r, *call.resource).message());
  return http::Body(schema::enveloped_list(call.resource->api_version(), call.resource->list_kind,
                                           schema::encode_protobuf(*list_meta, metadata), items));
}

}  // namespace

Result<Value> read_current(const Call& call) {
  const Resource& r = *call.resource;
  store::RecordPtr record = call.services.store.get(
      object_key(r, call.info.namespace_name, call.info.name));
  if (!record) return fail(not_found(r, call.info.name));
  return converted(parse_stored(*record), *call.catalog->storage_of(r), r);
}

Task<Result<Value>> read_current_by_webhook(const Call& call) {
  const Resource& r = *call.resource;
  store::RecordPtr record = call.services.store.get(
      object_key(r, call.info.namespace_name, call.info.name));
  if (!record) co_return fail(not_found(r, call.info.name));
  Result<Value> object = co_await read_as(call, std::move(record), r);
  co_return object;
}

Task<Result<Answer>> get(Call& call) {
  const Resource& r = *call.resource;
  if (auto version = call.info.query.first("resourceVersion"); version && !version->empty()) {
    auto revision = parse_revision(*version);
    if (!revision)
      co_return fail(bad_request(cat("resourceVersion: Invalid value: ", quoted(*version), ": ",
                                     revision.error().message)));
    if (auto ok = check_not_in_the_future(call.services.store, *revision); !ok)
      co_return fail(ok.error());
  }
  store::RecordPtr record = call.services.store.get(
      object_key(r, call.info.namespace_name, call.info.name));
  if (!record) co_return fail(not_found(r, call.info.name));
  if (is_unreadable(call, *record)) co_return fail(unreadable(record->key()));
  if (call.view.is_plain_json() && is_stored_as_asked(call)) {
    Answer answer;
    answer.is_raw = true;
    answer.body = stored_body(std::move(record));
    co_return answer;
  }
  if (is_kept_protobuf(call)) co_return protobuf_answer(stored_protobuf_body(std::move(record), r));
  if (r.is_converted_by_webhook) {
    Result<Value> shown = co_await read_as(call, std::move(record), r);
    if (!shown) co_return fail(shown.error());
    co_return Answer::of(std::move(*shown));
  }
  co_return Answer::of(converted(parse_stored(*record), *call.catalog->storage_of(r), r));
}

Task<Result<Answer>> list(Call& call) {
  auto options = list_options(call.info);
  if (!options) co_return fail(options.error());
  auto selection = Selection::make(*call.resource, *options);
  if (!selection) co_return fail(selection.error());
  auto page = plan(call, *options, *selection);
  if (!page) co_return fail(page.error());
  bool as_bytes = call.view.is_plain_json() && is_stored_as_asked(call);
  bool as_protobuf = is_kept_protobuf(call);
  Result<Selected> selected = Selected();
  if (call.resource->is_converted_by_webhook)
    selected = co_await select_by_webhook(call, *page, *selection);
  else
    selected = select(call, *page, *selection, !as_bytes && !as_protobuf);
  if (!selected && selected.error().reason == Reason::kExpired && page->token)
    co_return expired_page(*page->token);
  if (!selected) co_return fail(selected.error());
  Value metadata = list_metadata(
      *selected, *page, *selection,
      call.resource->is_custom && call.view.shape == View::Shape::kObject);
  if (as_protobuf) co_return protobuf_answer(protobuf_list(call, *selected, metadata));
  Answer answer;
  answer.is_list = true;
  if (as_bytes) {
    answer.is_raw = true;
    answer.body = list_bytes(call, *selected, metadata);
    co_return answer;
  }
  Value items = Value::array();
  for (Value& object : selected->objects) {
    if (!call.resource->is_custom && call.view.shape == View::Shape::kObject) {
      object.erase("kind");
      object.erase("apiVersion");
    }
    items.push_back(std::move(object));
  }
  answer.document = Value::object({{"kind", call.resource->list_kind},
                                   {"apiVersion", call.resource->api_version()},
                                   {"metadata", metadata},
                                   {"items", std::move(items)}});
  co_return answer;
}

}  // namespace cardea::rest
