// Decides the worlds that rbac_worlds prints with Kubernetes' own RBAC authorizer, and compares decision and reason.
// Not part of the product: run by tests/e2e/rbac_peer.py where Go and the modules of Kubernetes are there.
package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"sort"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

type world struct {
	Seed     int
	Objects  []json.RawMessage
	Requests []struct {
		User, Verb, APIGroup, Namespace, Resource, Subresource, Name, Path, Reason string
		Groups                                                                     []string
		ResourceRequest, Allowed                                                   bool
	}
	Gifts []struct {
		User, Namespace, Refusal string
		Groups                   []string
		Rules                    []rbacv1.PolicyRule
	}
}

// Lists in byte order of names, where an informer's order is random.
type lists struct {
	roles           map[string]*rbacv1.Role
	clusterRoles    map[string]*rbacv1.ClusterRole
	bindings        map[string][]*rbacv1.RoleBinding
	clusterBindings []*rbacv1.ClusterRoleBinding
	storage         string // not empty: errors as those of the store in a request for this resource
}

func (l *lists) missing(resource, name string) error {
	if l.storage != "" {
		resource = l.storage
	}
	return errors.NewNotFound(schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: resource}, name)
}

func (l *lists) GetRole(_ context.Context, namespace, name string) (*rbacv1.Role, error) {
	if r, ok := l.roles[namespace+"/"+name]; ok {
		return r, nil
	}
	return nil, l.missing("role", name)
}

func (l *lists) GetClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	if r, ok := l.clusterRoles[name]; ok {
		return r, nil
	}
	return nil, l.missing("clusterrole", name)
}

func (l *lists) ListRoleBindings(_ context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	return l.bindings[namespace], nil
}

func (l *lists) ListClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return l.clusterBindings, nil
}

func read(t *testing.T, w world) *lists {
	l := &lists{roles: map[string]*rbacv1.Role{}, clusterRoles: map[string]*rbacv1.ClusterRole{}, bindings: map[string][]*rbacv1.RoleBinding{}}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, raw := range w.Objects {
		var kind metav1.TypeMeta
		must(json.Unmarshal(raw, &kind))
		switch kind.Kind {
		case "Role":
			o := &rbacv1.Role{}
			must(json.Unmarshal(raw, o))
			l.roles[o.Namespace+"/"+o.Name] = o
		case "ClusterRole":
			o := &rbacv1.ClusterRole{}
			must(json.Unmarshal(raw, o))
			l.clusterRoles[o.Name] = o
		case "RoleBinding":
			o := &rbacv1.RoleBinding{}
			must(json.Unmarshal(raw, o))
			l.bindings[o.Namespace] = append(l.bindings[o.Namespace], o)
		case "ClusterRoleBinding":
			o := &rbacv1.ClusterRoleBinding{}
			must(json.Unmarshal(raw, o))
			l.clusterBindings = append(l.clusterBindings, o)
		}
	}
	sort.Slice(l.clusterBindings, func(i, j int) bool { return l.clusterBindings[i].Name < l.clusterBindings[j].Name })
	for _, list := range l.bindings {
		sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	}
	return l
}

func TestAgreement(t *testing.T) {
	file, err := os.Open(os.Getenv("CARDEA_RBAC_WORLDS_FILE"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	decisions, gifts, differences := 0, 0, 0
	for lines.Scan() {
		var w world
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		l := read(t, w)
		a := rbac.New(l, l, l, l)
		for _, r := range w.Requests {
			got, reason, err := a.Authorize(context.Background(), authorizer.AttributesRecord{
				User: &user.DefaultInfo{Name: r.User, Groups: r.Groups}, Verb: r.Verb, Namespace: r.Namespace, APIGroup: r.APIGroup, APIVersion: "v1",
				Resource: r.Resource, Subresource: r.Subresource, Name: r.Name, ResourceRequest: r.ResourceRequest, Path: r.Path})
			decisions++
			if (got == authorizer.DecisionAllow) != r.Allowed || reason != r.Reason || err != nil {
				if differences++; differences < 20 {
					t.Errorf("seed %d %+v: Kubernetes says %v %q %v", w.Seed, r, got, reason, err)
				}
			}
		}
		l.storage = "roles"
		resolver := validation.NewDefaultRuleResolver(l, l, l, l)
		for _, g := range w.Gifts {
			ctx := request.WithUser(context.Background(), &user.DefaultInfo{Name: g.User, Groups: g.Groups})
			refusal := ""
			if err := validation.ConfirmNoEscalation(request.WithNamespace(ctx, g.Namespace), resolver, g.Rules); err != nil {
				refusal = err.Error()
			}
			gifts++
			if refusal != g.Refusal {
				if differences++; differences < 20 {
					t.Errorf("seed %d %+v: Kubernetes says %q", w.Seed, g, refusal)
				}
			}
		}
	}
	t.Logf("%d decisions, %d gifts, %d differences", decisions, gifts, differences)
	if decisions == 0 {
		t.Fatal("no world was read")
	}
}
