#include "catalog/convert.h"

#include <gtest/gtest.h>

#include "catalog/scale.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

using json::Value;

Value parse(std::string_view text) {
  return json::parse(text).value();
}

// One autoscaler in its two versions, as a real server shows it.
constexpr std::string_view kV2 =
    R"({"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",
  "metadata":{"name":"h"},"spec":{
  "scaleTargetRef":{"kind":"Deployment","name":"web","apiVersion":"apps/v1"},"minReplicas":2,
  "maxReplicas":5,"metrics":[
   {"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue",
     "averageValue":"100Mi"}}},
   {"type":"Pods","pods":{"metric":{"name":"pm","selector":{"matchLabels":{"a":"b"}}},
     "target":{"type":"AverageValue","averageValue":"10"}}},
   {"type":"Object","object":{"metric":{"name":"om"},
     "describedObject":{"kind":"Service","name":"s","apiVersion":"v1"},
     "target":{"type":"Value","value":"7"}}},
   {"type":"Object","object":{"metric":{"name":"om2","selector":{"matchLabels":{"a":"b"}}},
     "describedObject":{"kind":"Service","name":"s","apiVersion":"v1"},
     "target":{"type":"AverageValue","averageValue":"7"}}},
   {"type":"External","external":{"metric":{"name":"em","selector":{"matchLabels":{"a":"b"}}},
     "target":{"type":"Value","value":"8"}}},
   {"type":"ContainerResource","containerResource":{"name":"cpu","container":"c",
     "target":{"type":"Utilization","averageUtilization":55}}},
   {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",
     "averageUtilization":70}}}],
  "behavior":{"scaleUp":{"stabilizationWindowSeconds":3,"selectPolicy":"Max",
    "policies":[{"type":"Pods","value":4,"periodSeconds":15}],"tolerance":"100m"},
              "scaleDown":{"selectPolicy":"Max","policies":[{"type":"Percent","value":100,
                "periodSeconds":15}]}}},
  "status":{"currentReplicas":3,"desiredReplicas":4,
    "conditions":[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z",
    "reason":"R","message":"M"}],
   "currentMetrics":[{"type":"Resource","resource":{"name":"cpu",
     "current":{"averageUtilization":33,"averageValue":"5m"}}},
    {"type":"Object","object":{"metric":{"name":"om"},
      "describedObject":{"kind":"Service","name":"s","apiVersion":"v1"},"current":{"value":"4"}}},
    {"type":"External","external":{"metric":{"name":"em"},
      "current":{"value":"5","averageValue":"6"}}}]}})";

TEST(Convert, KeepsWhatTheFirstVersionOfAnAutoscalerCannotSayInAnnotations) {
  auto catalog = Catalog::builtin();
  const Resource& v1 = *catalog->find("autoscaling", "v1", "horizontalpodautoscalers");
  const Resource& v2 = *catalog->find("autoscaling", "v2", "horizontalpodautoscalers");
  Value old = convert(parse(kV2), v2, v1);
  EXPECT_EQ(old["apiVersion"].as_string(), "autoscaling/v1");
  EXPECT_EQ(old["spec"]["targetCPUUtilizationPercentage"].as_int(), 70);
  EXPECT_EQ(old["status"]["currentCPUUtilizationPercentage"].as_int(), 33);
  EXPECT_FALSE(old["spec"].has("metrics"));
  const Value& annotations = old["metadata"]["annotations"];
  EXPECT_EQ(annotations["autoscaling.alpha.kubernetes.io/behavior"].as_string(),
            R"({"ScaleUp":{"StabilizationWindowSeconds":3,"SelectPolicy":"Max",)"
            R"("Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":"100m"},)"
            R"("ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max",)"
            R"("Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}})");
  EXPECT_EQ(
      annotations["autoscaling.alpha.kubernetes.io/metrics"].as_string(),
      R"([{"type":"Resource","resource":{"name":"memory","targetAverageValue":"100Mi"}},)"
      R"({"type":"Pods","pods":{"metricName":"pm","targetAverageValue":"10",)"
      R"("selector":{"matchLabels":{"a":"b"}}}},)"
      R"({"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},)"
      R"("metricName":"om","targetValue":"7"}},)"
      R"({"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},)"
      R"("metricName":"om2","targetValue":"0","selector":{"matchLabels":{"a":"b"}},)"
      R"("averageValue":"7"}},)"
      R"({"type":"External","external":{"metricName":"em",)"
      R"("metricSelector":{"matchLabels":{"a":"b"}},"targetValue":"8"}},)"
      R"({"type":"ContainerResource","containerResource":{"name":"cpu",)"
      R"("targetAverageUtilization":55,"container":"c"}}])");
  EXPECT_EQ(
      annotations["autoscaling.alpha.kubernetes.io/current-metrics"].as_string(),
      R"([{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":33,)"
      R"("currentAverageValue":"5m"}},)"
      R"({"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},)"
      R"("metricName":"om","currentValue":"4"}},)"
      R"({"type":"External","external":{"metricName":"em","currentValue":"5",)"
      R"("currentAverageValue":"6"}}])");
  EXPECT_EQ(annotations["autoscaling.alpha.kubernetes.io/conditions"].as_string(),
            R"([{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z",)"
            R"("reason":"R","message":"M"}])");
  EXPECT_EQ(json::print(convert(old, v1, v2)), json::print(parse(kV2)));
}

TEST(Convert, ShowsAnEventInBothGroups) {
  auto catalog = Catalog::builtin();
  const Resource& core = *catalog->find("", "v1", "events");
  const Resource& events = *catalog->find("events.k8s.io", "v1", "events");
  Value event = parse(
      R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},
    "involvedObject":{"kind":"Pod","name":"p"},"message":"hello",
    "reason":"R","source":{"component":"kubelet"},"firstTimestamp":"2026-01-01T00:00:00Z",
    "lastTimestamp":null,"count":2,"eventTime":null,
    "reportingComponent":"","reportingInstance":""})");
  Value shown = convert(event, core, events);
  EXPECT_EQ(shown["apiVersion"].as_string(), "events.k8s.io/v1");
  EXPECT_EQ(shown["note"].as_string(), "hello");
  EXPECT_EQ(shown["regarding"]["name"].as_string(), "p");
  EXPECT_EQ(shown["deprecatedCount"].as_int(), 2);
  EXPECT_EQ(shown["deprecatedSource"]["component"].as_string(), "kubelet");
  EXPECT_FALSE(shown.has("message") || shown.has("involvedObject") || shown.has("lastTimestamp"));
  EXPECT_EQ(convert(shown, events, core)["message"].as_string(), "hello");
  EXPECT_TRUE(convert(event, core, core).same(event));
}

TEST(Scale, IsAViewOfAWorkload) {
  auto catalog = Catalog::builtin();
  const Resource& deployments = *catalog->find("apps", "v1", "deployments");
  Value object = parse(
      R"({"metadata":{"name":"d","namespace":"n","uid":"u","resourceVersion":"5",
    "labels":{"x":"y"}},
    "spec":{"replicas":2,"selector":{"matchLabels":{"app":"a"},
      "matchExpressions":[{"key":"Z","operator":"In","values":["y","x"]},
      {"key":"old","operator":"DoesNotExist"}]}},
    "status":{"replicas":1}})");
  EXPECT_EQ(json::print(*scale_of(object, deployments)),
            R"({"apiVersion":"autoscaling/v1","kind":"Scale",)"
            R"("metadata":{"name":"d","namespace":"n","resourceVersion":"5","uid":"u"},)"
            R"("spec":{"replicas":2},"status":{"replicas":1,"selector":"Z in (x,y),app=a,!old"}})");
  auto scaled = with_scale(
      object, parse(R"({"metadata":{"name":"d","resourceVersion":"4"},"spec":{"replicas":7}})"),
      deployments);
  ASSERT_TRUE(scaled);
  EXPECT_EQ((*scaled)["spec"]["replicas"].as_int(), 7);
  EXPECT_EQ((*scaled)["metadata"]["resourceVersion"].as_string(), "4");
  auto refused = with_scale(object, parse(R"({"spec":{"replicas":-1}})"), deployments);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be greater "
            "than or equal to 0");
  // The view leaves out zero, and a Scale without replicas asks for zero.
  EXPECT_EQ(
      (*with_scale(object, parse(R"({"spec":{}})"), deployments))["spec"]["replicas"].as_int(), 0);
  EXPECT_EQ(
      json::print((*scale_of(*with_scale(object, parse("{}"), deployments), deployments))["spec"]),
      "{}");
}

TEST(Scale, ReadsAndWritesThePathsOfACustomResource) {
  auto catalog = Catalog::builtin()->with_definitions({parse(
      R"({"metadata":{"name":"fleets.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced",
    "names":{"plural":"fleets","kind":"Fleet"},"versions":[{"name":"v1","served":true,
      "storage":true,"subresources":{
      "scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas",
        "labelSelectorPath":".status.selector"}}}]},
    "status":{"conditions":[{"type":"Established","status":"True"}]}})")});
  const Resource& fleets = *catalog->find("example.com", "v1", "fleets");
  Value object = parse(R"({"metadata":{"name":"f"},"spec":{"replicas":2},)"
                       R"("status":{"replicas":1,"selector":"a=b"}})");
  EXPECT_EQ(json::print((*scale_of(object, fleets))["status"]),
            R"({"replicas":1,"selector":"a=b"})");
  EXPECT_EQ((*with_scale(object, parse(R"({"spec":{"replicas":7}})"), fleets))["spec"]["replicas"]
                .as_int(),
            7);
  auto missing = scale_of(parse(R"({"spec":{}})"), fleets);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "the spec replicas field \".spec.replicas\" does not exist");
  // Before the first scaling there are no replicas to see; the first scaling sets them.
  EXPECT_EQ(
      json::print(scale_to_change(parse(R"({"metadata":{"name":"f"},"spec":{}})"), fleets)["spec"]),
      "{}");
  EXPECT_EQ((*with_scale(parse(R"({"metadata":{"name":"f"}})"), parse(R"({"spec":{"replicas":7}})"),
                         fleets))["spec"]["replicas"]
                .as_int(),
            7);
  auto negative = with_scale(object, parse(R"({"spec":{"replicas":-2}})"), fleets);
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().message,
            "Fleet.example.com \"f\" is invalid: .spec.replicas: Invalid value: -2: should be a "
            "non-negative integer");
}

}  // namespace
}  // namespace cardea::catalog
