#include "catalog/tables/tables.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "catalog/convert.h"
#include "catalog/tables/cells.h"
#include "catalog/tables/duration.h"
#include "json/json_path.h"
#include "json/print.h"

namespace cardea::catalog {

using cells::Cell;
using cells::KindCells;
using cells::TableContext;
using json::Value;

namespace {

const Column kNameColumn{.name = "Name", .type = "string", .format = "name"};

// The columns of a kind without its own columns.
const std::vector<Column> kPlainColumns = {kNameColumn, {.name = "Created At", .type = "date"}};

const std::vector<Column> kScaleColumns = {
    {.name = "Name", .type = "string"},
    {.name = "Desired", .type = "integer"},
    {.name = "Available", .type = "integer"},
    {.name = "Age", .type = "string"},
};

constexpr Cell kPlainCells[] = {cells::name(), cells::text("metadata.creationTimestamp")};

Value column_definitions(const std::vector<Column>& columns) {
  Value out = Value::array();
  for (const Column& column : columns) {
    std::string description = column.description;
    if (description.empty() && !column.json_path.empty())
      description = cat("Custom resource definition column (in JSONPath format): ",
                        column.json_path);
    out.push_back(Value::object({{"name", column.name},
                                 {"type", column.type},
                                 {"format", column.format},
                                 {"description", description},
                                 {"priority", column.priority}}));
  }
  return out;
}

// A value of a custom resource as a cell of the column's type. Null if it does not fit the type.
Value typed_cell(const Value& value, const Column& column, const TableContext& context) {
  if (column.type == "string") {
    if (value.is_string()) return value;
    return value.is_null() ? Value("<no value>") : Value(json::print(value));
  }
  if (column.type == "integer") return value.is_number() ? Value(value.as_int()) : Value();
  if (column.type == "number") return value.is_number() ? value : Value();
  if (column.type == "boolean") return value.is_bool() ? value : Value();
  if (column.type == "date" && value.is_string()) {
    auto time = parse_time(value.as_string());
    return time ? human_duration(context.now - *time) : "<invalid>";
  }
  return {};
}

// Makes the rows of one resource.
class Rows {
 public:
  Rows(const Resource& resource, const Catalog& catalog, const TableOptions& options)
      : resource_(resource), catalog_(catalog), options_(options), context_{options.now} {
    if (!resource.is_custom) {
      const KindCells* kind = cells::cells_of(resource.group, resource.kind);
      cells_ = kind ? kind->cells : std::span<const Cell>(kPlainCells);
      sorted_by_ = kind ? kind->sorted_by : -1;
      return;
    }
    for (const Column& column : resource.columns) {
      auto path = json::JsonPath::parse(column.json_path);
      paths_.push_back(path ? std::optional(*path) : std::nullopt);
    }
  }

  void sort(std::vector<Value>& rows) const {
    if (sorted_by_ < 0) return;
    auto number = [this](const Value& row) { return row["cells"][sorted_by_].as_int(); };
    std::ranges::stable_sort(rows, {}, number);
  }

  Value row(const Value& object) const {
    Value out = Value::object(
        {{"cells", resource_.is_custom ? custom_cells(object) : builtin_cells(object)},
         {"object", shown(object)}});
    if (resource_.kind == "Pod") add_pod_condition(object, out);
    return out;
  }

 private:
  Value builtin_cells(const Value& object) const {
    // A kind with several versions is read in its stored version.
    const Resource* stored = catalog_.storage_of(resource_);
    const Value source = convert(object, resource_, *stored);
    Value out = Value::array();
    for (const Cell& cell : cells_) out.push_back(cells::evaluate(cell, source, context_));
    return out;
  }

  Value custom_cells(const Value& object) const {
    Value out = Value::array();
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const Value* found = paths_[i] ? paths_[i]->first(object) : nullptr;
      out.push_back(found ? typed_cell(*found, resource_.columns[i], context_) : Value());
    }
    return out;
  }

  Value shown(const Value& object) const {
    switch (options_.include) {
      case IncludeObject::kNone:
        return {};
      case IncludeObject::kObject:
        return object;
      case IncludeObject::kMetadata:
        return partial_metadata(object, options_.version);
    }
    return {};
  }

  static void add_pod_condition(const Value& pod, Value& row) {
    std::string_view phase = pod["status"]["phase"].as_string();
    if (phase != "Succeeded" && phase != "Failed") return;
    std::string_view message = phase == "Failed" ? "The pod failed."
                                                 : "The pod has completed successfully.";
    row.set("conditions", Value::array({Value::object({{"type", "Completed"},
                                                       {"status", "True"},
                                                       {"reason", phase},
                                                       {"message", message}})}));
  }

  const Resource& resource_;
  const Catalog& catalog_;
  const TableOptions& options_;
  TableContext context_;
  std::span<const Cell> cells_;
  int sorted_by_ = -1;
  std::vector<std::optional<json::JsonPath>> paths_;
};

// The list's own metadata, or the part of an object's metadata that a table has.
Value table_metadata(const Value& object, bool is_list) {
  if (is_list) return object["metadata"].is_object() ? object["metadata"] : Value::object();
  Value out = Value::object();
  if (const Value* version = object["metadata"].find("resourceVersion"))
    out.set("resourceVersion", *version);
  return out;
}

Value scale_row(const Value& scale, const TableOptions& options) {
  TableContext context{options.now};
  Value shown = Value::array();
  for (const Cell& cell : cells::cells_of("autoscaling", "Scale")->cells)
    shown.push_back(cells::evaluate(cell, scale, context));
  Value object;
  if (options.include == IncludeObject::kObject) object = scale;
  if (options.include == IncludeObject::kMetadata)
    object = partial_metadata(scale, options.version);
  return Value::object({{"cells", shown}, {"object", object}});
}

}  // namespace

Result<IncludeObject> parse_include_object(std::string_view text) {
  if (text.empty() || text == "Metadata") return IncludeObject::kMetadata;
  if (text == "None") return IncludeObject::kNone;
  if (text == "Object") return IncludeObject::kObject;
  return fail(bad_request(
      cat("Unable to convert to Table as requested: includeObject: Invalid value: ", quoted(text),
          ": must be 'Metadata', 'Object', 'None', or empty")));
}

Value table_of(const Value& object, const Resource& resource, const Catalog& catalog,
               const TableOptions& options) {
  bool is_list = object["items"].is_array() && object["kind"].as_string().ends_with("List");
  bool is_scale = object["kind"].as_string() == "Scale" &&
                  object["apiVersion"].as_string() == "autoscaling/v1";
  std::vector<Value> rows;
  if (is_scale) {
    rows.push_back(scale_row(object, options));
  } else {
    Rows maker(resource, catalog, options);
    if (is_list) {
      std::string api_version = resource.api_version();
      for (Value item : object["items"].items()) {
        // Items of a list may leave out apiVersion and kind, which the list gives for all of them.
        if (!item.has("apiVersion")) item.set("apiVersion", api_version);
        if (!item.has("kind")) item.set("kind", resource.kind);
        rows.push_back(maker.row(item));
      }
      maker.sort(rows);
    } else {
      rows.push_back(maker.row(object));
    }
  }
  const std::vector<Column>& columns = is_scale                   ? kScaleColumns
                                       : resource.columns.empty() ? kPlainColumns
                                                                  : resource.columns;
  return Value::object(
      {{"kind", "Table"},
       {"apiVersion", cat("meta.k8s.io/", options.version)},
       {"metadata", table_metadata(object, is_list)},
       {"columnDefinitions", options.headers ? column_definitions(columns) : Value()},
       {"rows", Value::array(std::move(rows))}});
}

Value partial_metadata(const Value& object, std::string_view version) {
  return Value::object(
      {{"kind", "PartialObjectMetadata"},
       {"apiVersion", cat("meta.k8s.io/", version)},
       {"metadata", object["metadata"].is_object() ? object["metadata"] : Value::object()}});
}

Value partial_metadata_list(const Value& list, std::string_view version) {
  Value items = Value::array();
  for (const Value& item : list["items"].items()) items.push_back(partial_metadata(item, version));
  return Value::object(
      {{"kind", "PartialObjectMetadataList"},
       {"apiVersion", cat("meta.k8s.io/", version)},
       {"metadata", list["metadata"].is_object() ? list["metadata"] : Value::object()},
       {"items", items}});
}

}  // namespace cardea::catalog
