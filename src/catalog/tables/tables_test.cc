#include "catalog/tables/tables.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "catalog/tables/cells.h"
#include "catalog/tables/duration.h"
#include "json/parse.h"
#include "json/print.h"
#include "json/testing/recordings.h"

namespace cardea::catalog {
namespace {

using json::Value;
using namespace std::chrono;

Value parse(std::string_view text) {
  return json::parse(text).value();
}

TableOptions options(IncludeObject include = IncludeObject::kNone) {
  return {.include = include, .now = *parse_time("2026-01-02T00:00:00Z")};
}

// The cells of one object as JSON text.
std::string shown_cells(std::string_view group, std::string_view version, std::string_view name,
                        std::string_view object) {
  static auto catalog = Catalog::builtin();
  const Resource* resource = catalog->find(group, version, name);
  return json::print(table_of(parse(object), *resource, *catalog, options())["rows"][0]["cells"]);
}

std::string pod(std::string_view spec, std::string_view status, std::string_view metadata = "") {
  return shown_cells("", "v1", "pods",
                     cat(R"({"metadata":{"name":"p","creationTimestamp":"2026-01-01T23:00:00Z")",
                         metadata, R"(},"spec":)", spec, R"(,"status":)", status, "}"));
}

TEST(HumanDuration, HasTwoOrThreeSignificantFigures) {
  struct {
    std::int64_t seconds;
    const char* text;
  } cases[] = {
      {-5, "<invalid>"},
      {-1, "0s"},
      {0, "0s"},
      {119, "119s"},
      {120, "2m"},
      {150, "2m30s"},
      {599, "9m59s"},
      {600, "10m"},
      {3 * 3600 - 1, "179m"},
      {3 * 3600, "3h"},
      {3 * 3600 + 60, "3h1m"},
      {8 * 3600, "8h"},
      {47 * 3600, "47h"},
      {48 * 3600, "2d"},
      {51 * 3600, "2d3h"},
      {8 * 86400, "8d"},
      {729 * 86400LL, "729d"},
      {730 * 86400LL, "2y"},
      {740 * 86400LL, "2y10d"},
      {4000 * 86400LL, "10y"},
  };
  for (auto [count_of, expected] : cases)
    EXPECT_EQ(human_duration(seconds(count_of)), expected) << count_of;
}

TEST(ParseTime, ReadsFractionsAndOffsets) {
  EXPECT_EQ(*parse_time("2026-01-02T00:00:00Z"), *parse_time("2026-01-02T01:00:00+01:00"));
  EXPECT_EQ(*parse_time("2026-01-02T00:00:00.500000Z") - *parse_time("2026-01-02T00:00:00Z"),
            milliseconds(500));
  for (const char* bad : {"", "2026-01-02", "2026-13-02T00:00:00Z", "2026-01-02T00:00:00",
                          "2026-01-02T00:00:00.Z", "2026-01-02T00:00:00Zx", "2026-02-30T00:00:00Z"})
    EXPECT_FALSE(parse_time(bad)) << bad;
}

TEST(PodTable, ShowsWhatHoldsAPodUp) {
  constexpr std::string_view kTwo = R"({"containers":[{"name":"c"},{"name":"d"}]})";
  EXPECT_EQ(pod(kTwo, R"({"phase":"Pending"})"),
            R"(["p","0/2","Pending","0","60m","<none>","<none>","<none>","<none>"])");
  EXPECT_EQ(pod(kTwo,
                R"({"phase":"Running","podIPs":[{"ip":"10.1.1.1"}],
      "conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[
      {"name":"c","ready":true,"restartCount":3,"state":{"running":{}},
        "lastState":{"terminated":{"finishedAt":"2026-01-01T23:30:00Z"}}},
      {"name":"d","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":0,
        "reason":"Completed"}}}]})"),
            R"x(["p","1/2","Running","3 (30m ago)","60m","10.1.1.1","<none>","<none>","<none>"])x");
  EXPECT_EQ(pod(kTwo,
                R"({"phase":"Failed","containerStatuses":[{"name":"c",
      "state":{"terminated":{"exitCode":3}}},
      {"name":"d","state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]})"),
            R"(["p","0/2","ExitCode:3","0","60m","<none>","<none>","<none>","<none>"])");
  EXPECT_EQ(pod(kTwo, R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",)"
                      R"("reason":"SchedulingGated"}]})"),
            R"(["p","0/2","SchedulingGated","0","60m","<none>","<none>","<none>","<none>"])");
  EXPECT_EQ(pod(kTwo, R"({"phase":"Running"})", R"(,"deletionTimestamp":"2026-01-01T23:59:00Z")"),
            R"(["p","0/2","Terminating","0","60m","<none>","<none>","<none>","<none>"])");
}

TEST(PodTable, CountsSidecarsAndNamesTheInitContainerThatFails) {
  constexpr std::string_view kSpec =
      R"({"initContainers":[{"name":"i"},{"name":"side","restartPolicy":"Always"}],
    "containers":[{"name":"c"}],
    "readinessGates":[{"conditionType":"g"}]})";
  EXPECT_EQ(
      pod(kSpec, R"({"phase":"Pending","initContainerStatuses":[{"name":"i","restartCount":2,)"
                 R"("state":{"waiting":{"reason":"CrashLoopBackOff"}}}]})"),
      R"(["p","0/2","Init:CrashLoopBackOff","2","60m","<none>","<none>","<none>","0/1"])");
  EXPECT_EQ(pod(kSpec,
                R"({"phase":"Pending","initContainerStatuses":[{"name":"i",
      "state":{"terminated":{"exitCode":0}}},
      {"name":"side","state":{"waiting":{"reason":"PodInitializing"}}}]})"),
            R"(["p","0/2","Init:1/2","0","60m","<none>","<none>","<none>","0/1"])");
  EXPECT_EQ(pod(kSpec,
                R"({"phase":"Running","conditions":[{"type":"g","status":"True"}],
      "initContainerStatuses":[{"name":"i","restartCount":5,"state":{"terminated":{"exitCode":0}}},
      {"name":"side","ready":true,"started":true,"restartCount":1,"state":{"running":{}}}],
      "containerStatuses":[{"name":"c","ready":true,"state":{"running":{}}}]})"),
            R"(["p","2/2","Running","1","60m","<none>","<none>","<none>","1/1"])");
}

TEST(Tables, ShowWorkloadsServicesAndVolumes) {
  EXPECT_EQ(
      shown_cells(
          "apps", "v1", "deployments",
          R"({"metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"a"}},
      "template":{"spec":{"containers":[{"name":"c","image":"x"},{"name":"d","image":"y"}]}}},
      "status":{"readyReplicas":1,"updatedReplicas":2}})"),
      R"(["d","1/2",2,0,"<unknown>","c,d","x,y","app=a"])");
  EXPECT_EQ(shown_cells(
                "", "v1", "services",
                R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer","clusterIPs":["10.0.0.1"],
      "externalIPs":["1.2.3.4"],
      "ports":[{"port":80,"nodePort":30001,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]},
      "status":{"loadBalancer":{"ingress":[{"hostname":"h"},{"ip":"9.9.9.9"}]}}})"),
            R"(["s","LoadBalancer","10.0.0.1","9.9.9.9,h,1.2.3.4","80:30001/TCP,53/UDP",)"
            R"("<unknown>","<none>"])");
  EXPECT_EQ(
      shown_cells("", "v1", "persistentvolumeclaims",
                  R"({"metadata":{"name":"c"},"spec":{"volumeName":"v","storageClassName":"sc",
      "volumeMode":"Filesystem"},
      "status":{"phase":"Bound","accessModes":["ReadWriteMany","ReadWriteOnce"],
        "capacity":{"storage":"5Gi"}}})"),
      R"(["c","Bound","v","5Gi","RWO,RWX","sc","<unset>","<unknown>","Filesystem"])");
  EXPECT_EQ(shown_cells("batch", "v1", "jobs",
                        R"({"metadata":{"name":"j"},"spec":{"parallelism":3},)"
                        R"("status":{"startTime":"2026-01-01T23:50:00Z","succeeded":1}})"),
            R"(["j","Running","1/1 of 3","10m","<unknown>","","","<none>"])");
  EXPECT_EQ(shown_cells("networking.k8s.io", "v1", "ingresses",
                        R"({"metadata":{"name":"i"},"spec":{"tls":[{}],)"
                        R"("rules":[{"host":"a"},{"host":"b"},{"host":"c"},{"host":"d"}]}})"),
            R"(["i","<none>","a,b,c + 1 more...","","80, 443","<unknown>"])");
  EXPECT_EQ(shown_cells("", "v1", "nodes",
                        R"({"metadata":{"name":"n","labels":{"node-role.kubernetes.io/worker":"",
      "node-role.kubernetes.io/":"x"}},"spec":{"unschedulable":true},
      "status":{"conditions":[{"type":"Ready","status":"Unknown"}],
        "nodeInfo":{"kernelVersion":"6","architecture":"amd64"}}})"),
            R"x(["n","NotReady,SchedulingDisabled","worker","<unknown>","","<none>","<none>",)x"
            R"x("<unknown>","6 (amd64)","<unknown>"])x");
  EXPECT_EQ(shown_cells("rbac.authorization.k8s.io", "v1", "clusterroles",
                        R"({"metadata":{"name":"r","creationTimestamp":"2026-01-01T00:00:00Z"}})"),
            R"(["r","2026-01-01T00:00:00Z"])");
}

TEST(Tables, ShowDecisions) {
  auto shown = [](std::string_view request) {
    return shown_cells(
        "access.cardea.dev", "v1alpha1", "decisions",
        cat(R"({"metadata":{"name":"7","creationTimestamp":"2026-01-01T23:00:00Z"},)",
            R"("outcome":"Denied","user":"jane","reason":"no","request":)", request, "}"));
  };
  EXPECT_EQ(shown(R"({"verb":"patch","group":"apps","resource":"deployments",)"
                  R"("subresource":"scale","namespace":"shop","name":"web"})"),
            R"(["7","Denied","jane","patch","deployments.apps/scale","shop","web","60m","","no"])");
  EXPECT_EQ(shown(R"({"verb":"get","path":"/metrics"})"),
            R"(["7","Denied","jane","get","/metrics","","","60m","","no"])");
}

TEST(Tables, ReadBothFacesOfAKindAlike) {
  EXPECT_EQ(shown_cells("events.k8s.io", "v1", "events",
                        R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e"},
      "regarding":{"kind":"Pod","name":"p"},
      "note":" hi ","reason":"R","type":"Normal","reportingController":"c","reportingInstance":"i",
      "eventTime":"2026-01-01T22:00:00.000000Z",
      "series":{"count":7,"lastObservedTime":"2026-01-01T23:00:00.000000Z"}})"),
            R"(["60m","Normal","R","pod/p","","c, i","hi","120m",7,"e"])");
  EXPECT_EQ(shown_cells("autoscaling", "v1", "horizontalpodautoscalers",
                        R"({"metadata":{"name":"h"},"spec":{"maxReplicas":3,"minReplicas":1,
      "targetCPUUtilizationPercentage":70,
      "scaleTargetRef":{"kind":"Deployment","name":"d"}}})"),
            R"(["h","Deployment/d","cpu: <unknown>/70%","1",3,0,"<unknown>"])");
}

TEST(Tables, HaveAsManyCellsAsColumnsForEveryBuiltInKind) {
  auto catalog = Catalog::builtin();
  for (const Group& group : catalog->groups())
    for (const Version& version : group.versions)
      for (const Resource* resource : version.resources) {
        if (!resource->has_verb("list")) continue;
        Value table = table_of(Value::object({{"metadata", Value::object({{"name", "x"}})}}),
                               *resource, *catalog, options());
        std::size_t extra = resource->name == "ipaddresses" ? 1 : 0;  // Kubernetes sends one cell
                                                                      // too many
        EXPECT_EQ(table["rows"][0]["cells"].size(), table["columnDefinitions"].size() + extra)
            << resource->name;
      }
}

TEST(Tables, OrderFlowSchemasByPrecedence) {
  auto catalog = Catalog::builtin();
  Value list = parse(R"({"kind":"FlowSchemaList","metadata":{"resourceVersion":"7"},)"
                     R"("items":[{"metadata":{"name":"a"},"spec":{"matchingPrecedence":9}},)"
                     R"({"metadata":{"name":"b"},"spec":{"matchingPrecedence":2}}]})");
  Value table = table_of(list, *catalog->find("flowcontrol.apiserver.k8s.io", "v1", "flowschemas"),
                         *catalog, options());
  EXPECT_EQ(table["rows"][0]["cells"][0].as_string(), "b");
  EXPECT_EQ(json::print(table["metadata"]), R"({"resourceVersion":"7"})");
}

TEST(Tables, CarryAsMuchOfTheObjectAsWasAskedFor) {
  auto catalog = Catalog::builtin();
  const Resource& maps = *catalog->find("", "v1", "configmaps");
  Value object = parse(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","resourceVersion":"3"},)"
      R"("data":{"a":"b"}})");
  EXPECT_TRUE(table_of(object, maps, *catalog, options(IncludeObject::kNone))["rows"][0]["object"]
                  .is_null());
  EXPECT_EQ(table_of(object, maps, *catalog, options(IncludeObject::kObject))["rows"][0]["object"],
            object);
  Value table = table_of(object, maps, *catalog, options(IncludeObject::kMetadata));
  EXPECT_EQ(json::print(table["rows"][0]["object"]),
            R"({"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata",)"
            R"("metadata":{"name":"c","resourceVersion":"3"}})");
  EXPECT_EQ(json::print(table["metadata"]), R"({"resourceVersion":"3"})");
  TableOptions later = options();
  later.headers = false;
  EXPECT_TRUE(table_of(object, maps, *catalog, later)["columnDefinitions"].is_null());
  EXPECT_EQ(*parse_include_object(""), IncludeObject::kMetadata);
  EXPECT_EQ(parse_include_object("Everything").error().message,
            "Unable to convert to Table as requested: includeObject: Invalid value: "
            "\"Everything\": must be 'Metadata', 'Object', 'None', or empty");
}

TEST(Tables, ShowColumnsOfCustomResourcesByTheirTypes) {
  auto catalog = Catalog::builtin()->with_definitions({parse(
      R"({"metadata":{"name":"shelves.example.com"},"spec":{"group":"example.com","scope":"Cluster",
    "names":{"plural":"shelves","kind":"Shelf"},"versions":[{"name":"v1","served":true,
      "storage":true,"additionalPrinterColumns":[
      {"name":"Size","type":"integer","jsonPath":".spec.size"},
      {"name":"Ratio","type":"number","jsonPath":".spec.ratio","priority":1},
      {"name":"On","type":"boolean","jsonPath":".spec.on"},
      {"name":"Tags","type":"string","jsonPath":".spec.tags[*]"},
      {"name":"All","type":"string","jsonPath":".spec.tags"},
      {"name":"Third","type":"string","jsonPath":".spec.tags[2]"},
      {"name":"Count","type":"string","jsonPath":".spec.size"},
      {"name":"Made","type":"date","jsonPath":".spec.made"}]}]},
    "status":{"conditions":[{"type":"Established","status":"True"}]}})")});
  const Resource& shelves = *catalog->find("example.com", "v1", "shelves");
  auto row = [&](std::string_view spec) {
    return json::print(table_of(parse(cat(R"({"metadata":{"name":"x"},"spec":)", spec, "}")),
                                shelves, *catalog, options())["rows"][0]["cells"]);
  };
  EXPECT_EQ(
      row(R"({"size":3,"ratio":0.25,"on":true,"tags":["x","y"],"made":"2026-01-01T23:59:00Z"})"),
      R"(["x",3,0.25,true,"x","[\"x\",\"y\"]",null,"3","60s"])");
  EXPECT_EQ(row("{}"), R"(["x",null,null,null,null,null,null,null,null])");
  EXPECT_EQ(row(R"({"size":"big","ratio":"x","on":1,"made":"yesterday"})"),
            R"(["x",null,null,null,null,null,null,"big","<invalid>"])");
}

// Replaces ages, which a recording leaves out, and compares the cells with the objects in the
// table.
TEST(Tables, SayWhatWasRecorded) {
  int compared = 0;
  for (const char* name : {"tables--table-builtin", "crd--crd-printer-columns"}) {
    const std::optional<json::Value> recording = json::recorded(name);
    std::vector<Value> definitions;
    for (const Value& step : (*recording)["setup"].items()) {
      Value definition = step["body"];
      if (definition["kind"].as_string() != "CustomResourceDefinition") continue;
      definition.set("status", parse(R"({"conditions":[{"type":"Established","status":"True"}]})"));
      definitions.push_back(definition);
    }
    auto catalog = Catalog::builtin()->with_definitions(definitions);
    for (const Value& step : (*recording)["steps"].items()) {
      const Value& body = step["expect"]["body"];
      if (body["kind"].as_string() != "Table" ||
          step["path"].as_string().find("includeObject=Object") == std::string_view::npos)
        continue;
      for (const Value& row : body["rows"].items()) {
        auto version = split(row["object"]["apiVersion"].as_string(), '/');
        std::string_view group_name = version.size() > 1 ? version[0] : "";
        const Resource* resource = catalog->find_kind(group_name, version.back(),
                                                      row["object"]["kind"].as_string());
        ASSERT_TRUE(resource);
        Value table = table_of(row["object"], *resource, *catalog, options(IncludeObject::kObject));
        Value ours = table["rows"][0]["cells"];
        for (std::size_t i = 0; i < row["cells"].size(); ++i)
          if (row["cells"][i] == Value("<age>")) ours.item(i) = Value("<age>");
        EXPECT_EQ(json::print(ours), json::print(row["cells"]));
        for (std::size_t i = 0; i < body["columnDefinitions"].size(); ++i)
          EXPECT_EQ(table["columnDefinitions"][i]["name"], body["columnDefinitions"][i]["name"]);
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 2);
}

TEST(PartialMetadata, KeepsTheMetadataAlone) {
  EXPECT_EQ(
      json::print(
          partial_metadata_list(parse(R"({"metadata":{"resourceVersion":"9","continue":"x"},)"
                                      R"("items":[{"metadata":{"name":"a"},"data":{}}]})"))),
      R"({"apiVersion":"meta.k8s.io/v1","items":[{"apiVersion":"meta.k8s.io/v1",)"
      R"("kind":"PartialObjectMetadata","metadata":{"name":"a"}}],)"
      R"("kind":"PartialObjectMetadataList","metadata":{"continue":"x","resourceVersion":"9"}})");
}

}  // namespace
}  // namespace cardea::catalog
