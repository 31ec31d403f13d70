"""The scenarios of service_addresses.py: what a client of services with addresses of two families sees. `w` is a World."""

SCENARIOS = {}
ADDRESSES, CIDRS = "/apis/networking.k8s.io/v1/ipaddresses", "/apis/networking.k8s.io/v1/servicecidrs"
SERVICES = "/api/v1/namespaces/default/services"
POLICIES = ("SingleStack", "PreferDualStack", "RequireDualStack")


def scenario(*worlds):
    def add(run):
        for world in worlds:
            SCENARIOS[f"{run.__name__}_{world}"] = (world, run)
        return run
    return add


def cidr(name, *ranges, **metadata):
    return {"metadata": {"name": name, **metadata}, "spec": {"cidrs": list(ranges)}}


def address(name, service, **more):
    return {"metadata": {"name": name}, "spec": {"parentRef": {"group": "", "resource": "services", "namespace": "default", "name": service, **more}}}


@scenario("dual", "dual_of_six", "single", "six")
def at_the_start(w):
    w.until("the controller has seen the range", f"{CIDRS}/kubernetes",
            lambda a: "finalizers" in a[2]["metadata"] and a[2]["status"]["conditions"][0]["message"] == "Kubernetes Service CIDR is ready")
    w.until("the first service is there", f"{SERVICES}/kubernetes", lambda a: a[0] == 200)
    w.do("GET", CIDRS)
    w.do("GET", ADDRESSES)
    w.do("GET", f"{SERVICES}/kubernetes")


@scenario("dual", "dual_of_six", "single", "six")
def policies(w):
    w.create("none")
    for policy in POLICIES:
        w.create(policy.lower(), ipFamilyPolicy=policy)
    for families in (["IPv4"], ["IPv6"], ["IPv6", "IPv4"], ["IPv4", "IPv6"]):
        name = "-".join(families).lower()
        w.create(f"f-{name}", ipFamilies=families)
        for policy in POLICIES:
            w.create(f"{policy.lower()}-{name}", ipFamilyPolicy=policy, ipFamilies=families)
    w.create("twice", ipFamilies=["IPv4", "IPv4"], ipFamilyPolicy="PreferDualStack")
    w.create("unknown", ipFamilies=["IPv5"])
    w.create("three", ipFamilies=["IPv4", "IPv6", "IPv4"], ipFamilyPolicy="RequireDualStack")
    w.create("what", ipFamilyPolicy="Dual")
    w.taken()


@scenario("dual", "single", "six")
def headless(w):
    for selector in ({"app": "x"}, None):
        kind = "with" if selector else "without"
        w.create(f"{kind}", clusterIP="None", selector=selector)
        for policy in POLICIES:
            w.create(f"{kind}-{policy.lower()}", clusterIP="None", selector=selector, ipFamilyPolicy=policy)
        for families in (["IPv6"], ["IPv6", "IPv4"]):
            name = "-".join(families).lower()
            w.create(f"{kind}-{name}", clusterIP="None", selector=selector, ipFamilies=families)
            w.create(f"{kind}-p-{name}", clusterIP="None", selector=selector, ipFamilies=families, ipFamilyPolicy="PreferDualStack")
    w.create("both", clusterIPs=["None", "10.96.9.9"], clusterIP="None")
    w.create("ported", clusterIP="None", type="NodePort")
    w.patch("with", ipFamilyPolicy="RequireDualStack")
    w.patch("with", ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"])
    w.patch("with", ipFamilies=["IPv6"])
    w.patch("without", ipFamilyPolicy="SingleStack")
    w.taken()


@scenario("dual", "dual_of_six", "single")
def chosen_addresses(w):
    w.create("four", clusterIP="10.96.7.7")
    w.create("six", clusterIP="fd00:10:96::77")
    w.create("both", clusterIPs=["10.96.7.8", "fd00:10:96::78"], clusterIP="10.96.7.8")
    w.create("listed", clusterIPs=["10.96.7.9", "fd00:10:96::79"])
    w.create("prefer", clusterIPs=["10.96.7.9", "fd00:10:96::79"], clusterIP="10.96.7.9", ipFamilyPolicy="PreferDualStack")
    w.create("require", clusterIPs=["fd00:10:96::80", "10.96.7.10"], clusterIP="fd00:10:96::80", ipFamilyPolicy="RequireDualStack")
    w.create("halfway", clusterIP="10.96.7.11", ipFamilyPolicy="RequireDualStack")
    w.create("halfway-six", clusterIP="fd00:10:96::81", ipFamilyPolicy="PreferDualStack")
    w.create("turned", clusterIP="10.96.7.12", ipFamilies=["IPv6"])
    w.create("turned-two", clusterIP="10.96.7.12", ipFamilies=["IPv6", "IPv4"], ipFamilyPolicy="RequireDualStack")
    w.create("single-two", clusterIPs=["10.96.7.13", "fd00:10:96::82"], clusterIP="10.96.7.13", ipFamilyPolicy="SingleStack")
    w.create("taken", clusterIP="10.96.7.7")
    w.create("out", clusterIP="10.97.0.1")
    w.create("out-six", clusterIP="fd00:10:97::1", ipFamilies=["IPv6"])
    w.create("first", clusterIP="10.96.0.0")
    w.create("last", clusterIP="10.96.255.255")
    w.create("first-six", clusterIP="fd00:10:96::")
    w.create("last-six", clusterIP="fd00:10:96::ffff")
    w.create("of-kubernetes", clusterIP="10.96.0.1")
    w.create("spelled", clusterIP="FD00:10:96:0::99")
    w.create("nonsense", clusterIP="10.96.7")
    w.create("same-family", clusterIPs=["10.96.7.20", "10.96.7.21"], clusterIP="10.96.7.20", ipFamilyPolicy="RequireDualStack")
    w.create("three", clusterIPs=["10.96.7.20", "fd00:10:96::83", "10.96.7.21"], clusterIP="10.96.7.20", ipFamilyPolicy="RequireDualStack")
    w.do("POST", f"{SERVICES}?dryRun=All", {"metadata": {"name": "dry"}, "spec": {"ports": [{"port": 80}], "clusterIP": "10.96.7.7"}})
    w.do("POST", f"{SERVICES}?dryRun=All", {"metadata": {"name": "dry"}, "spec": {"ports": [{"port": 80}], "clusterIP": "10.97.7.7"}})
    w.do("POST", f"{SERVICES}?dryRun=All", {"metadata": {"name": "dry"}, "spec": {"ports": [{"port": 80}], "ipFamilyPolicy": "PreferDualStack"}})
    w.do("GET", f"{ADDRESSES}/10.96.7.7")
    w.do("GET", f"{ADDRESSES}/fd00:10:96::77")
    w.taken()


# Here kube-apiserver 1.36.3 deletes the IPAddress of a second address again, and then gives the address away once more. So who has
# which address is asked by a chapter about Cardea alone.
@scenario("dual", "dual_of_six")
def families_come_and_go(w):
    w.create("s")
    w.patch("s", ipFamilyPolicy="RequireDualStack")
    w.patch("s", ipFamilyPolicy="SingleStack")
    w.patch("s", ipFamilyPolicy="PreferDualStack")
    w.replace("s", {"ipFamilyPolicy": "SingleStack", "clusterIPs": None, "ipFamilies": None})
    w.patch("s", ipFamilyPolicy="PreferDualStack", ipFamilies=["IPv4", "IPv6"])
    w.patch("s", ipFamilies=["IPv6", "IPv4"])
    w.patch("s", ipFamilies=["IPv4"])
    w.patch("s", ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    w.patch("s", ipFamilies=["IPv6"])
    w.patch("s", ipFamilies=["IPv4", "IPv6"])
    w.patch("s", clusterIP="10.96.8.8")
    w.patch("s", clusterIP="", clusterIPs=None)
    w.create("chosen", clusterIP="10.96.8.9", ipFamilies=["IPv4"])
    w.patch("chosen", ipFamilyPolicy="RequireDualStack", clusterIPs=["10.96.8.9", "fd00:10:96::88"])
    w.patch("chosen", clusterIPs=["10.96.8.9"])
    w.patch("chosen", clusterIPs=["10.96.8.9"], ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    w.create("other", clusterIP="10.96.8.10", ipFamilies=["IPv4"])
    w.patch("other", ipFamilyPolicy="PreferDualStack", clusterIPs=["10.96.8.10", "fd00:10:97::88"])
    w.patch("other", ipFamilyPolicy="PreferDualStack", clusterIPs=["10.96.8.10", "fd00:10:96::1234"])
    w.delete("s")
    w.delete("chosen")


@scenario("dual")
def types_change(w):
    w.create("s", ipFamilyPolicy="RequireDualStack")
    w.patch("s", type="ExternalName", externalName="a.example.com")
    w.taken()
    w.patch("s", type="ClusterIP", externalName=None)
    w.taken()
    w.patch("s", type="NodePort", ports=[{"port": 80, "nodePort": 30123}])
    w.patch("s", type="ClusterIP", ports=[{"port": 80}])
    w.patch("s", type="ExternalName", externalName="a.example.com", clusterIP=None, clusterIPs=None)
    w.taken()
    w.create("e", type="ExternalName", externalName="b.example.com", ports=None, selector=None)
    w.patch("e", type="ClusterIP", clusterIP="10.96.9.1", ports=[{"port": 80}])
    w.create("e-families", type="ExternalName", externalName="b.example.com", ipFamilies=["IPv4"])
    w.create("e-policy", type="ExternalName", externalName="b.example.com", ipFamilyPolicy="SingleStack")
    w.create("e-address", type="ExternalName", externalName="b.example.com", clusterIP="10.96.9.2")
    w.patch("e", clusterIP="None", clusterIPs=["None"])
    w.create("h", clusterIP="None")
    w.patch("h", clusterIP="10.96.9.3", clusterIPs=["10.96.9.3"])
    w.taken()


@scenario("dual")
def addresses_by_hand(w):
    w.do("POST", ADDRESSES, address("10.96.10.1", "nobody"), note="by a user")
    w.create("s", clusterIP="10.96.10.1")
    w.create("t", clusterIP="10.96.10.2")
    w.do("POST", ADDRESSES, address("10.96.10.2", "nobody"), note="it is taken")
    w.do("POST", ADDRESSES, address("172.16.0.1", "nobody"), note="of no range")
    w.do("DELETE", f"{ADDRESSES}/10.96.10.1")
    w.create("s", clusterIP="10.96.10.1")
    w.do("PATCH", f"{ADDRESSES}/10.96.10.1", {"spec": {"parentRef": {"name": "t"}}})
    w.do("PATCH", f"{ADDRESSES}/10.96.10.1", {"metadata": {"labels": {"mine": "yes"}}})
    w.do("DELETE", f"{ADDRESSES}/10.96.10.1")
    w.delete("s")
    w.do("GET", f"{ADDRESSES}/10.96.10.1")
    w.taken()


@scenario("dual", "single")
def more_ranges(w):
    w.do("POST", CIDRS, cidr("more", "10.97.0.0/24"))
    w.until("the range is ready", f"{CIDRS}/more", lambda a: a[2].get("status", {}).get("conditions"))
    w.do("GET", f"{CIDRS}/more")
    w.until("addresses of the new range are given", f"{SERVICES}", lambda a: w.request("POST", f"{SERVICES}?dryRun=All", {
        "metadata": {"name": "try"}, "spec": {"ports": [{"port": 80}], "clusterIP": "10.97.0.9"}})[0] == 201)
    w.create("s", clusterIP="10.97.0.5")
    w.create("edge", clusterIP="10.97.0.255")
    w.do("GET", f"{ADDRESSES}/10.97.0.5")
    w.do("DELETE", f"{CIDRS}/more")
    w.until("the range says why it stays", f"{CIDRS}/more", lambda a: any(c["status"] == "False" for c in a[2].get("status", {}).get("conditions", [])))
    w.do("GET", f"{CIDRS}/more")
    w.create("t", clusterIP="10.97.0.6")
    w.delete("s")
    w.until("the range is gone", f"{CIDRS}/more", lambda a: a[0] == 404)
    w.do("GET", f"{CIDRS}/more")
    w.do("POST", CIDRS, cidr("unused", "10.98.0.0/24", "fd00:10:98::/112"))
    w.until("the range is ready", f"{CIDRS}/unused", lambda a: a[2].get("status", {}).get("conditions"))
    w.do("GET", f"{CIDRS}/unused")
    w.do("DELETE", f"{CIDRS}/unused")
    w.until("the range is gone", f"{CIDRS}/unused", lambda a: a[0] == 404)
    w.do("POST", CIDRS, cidr("overlap", "10.96.4.0/24"))
    w.until("the range is ready", f"{CIDRS}/overlap", lambda a: a[2].get("status", {}).get("conditions"))
    w.create("inside", clusterIP="10.96.4.4")
    w.do("DELETE", f"{CIDRS}/overlap")
    w.until("the range is gone: another has its addresses", f"{CIDRS}/overlap", lambda a: a[0] == 404)
    w.do("POST", CIDRS, cidr("one", "10.99.0.0/24"))
    w.do("PATCH", f"{CIDRS}/one", {"spec": {"cidrs": ["10.99.0.0/24", "fd00:10:99::/112"]}})
    w.do("PATCH", f"{CIDRS}/one", {"spec": {"cidrs": ["10.99.0.0/24"]}})
    w.do("PATCH", f"{CIDRS}/one", {"spec": {"cidrs": ["10.99.1.0/24", "fd00:10:99::/112"]}})
    w.do("POST", CIDRS, cidr("wrong", "10.99.0.1/24"))
    w.do("POST", CIDRS, cidr("wrong", "10.99.0.0/24", "10.100.0.0/24"))
    w.do("POST", CIDRS, cidr("wrong"))
    w.do("POST", CIDRS, cidr("tiny", "10.99.9.0/32"))
    w.do("POST", CIDRS, cidr("tiny6", "fd00:10:99::9/128"))
    w.taken()


@scenario("single")
def the_second_family_comes_with_a_range(w):
    w.do("POST", CIDRS, cidr("six", "fd00:10:97::/112"))
    w.until("the range is ready", f"{CIDRS}/six", lambda a: a[2].get("status", {}).get("conditions"))
    w.create("s", ipFamilyPolicy="RequireDualStack")
    w.create("t", ipFamilies=["IPv6"])
