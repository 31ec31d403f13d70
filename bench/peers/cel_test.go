// The expressions and data of bench/cel_bench.cc in cel-go, under the same names.
package peers

import (
	"testing"

	"github.com/google/cel-go/cel"
)

const (
	kep = `request.apiGroup == "" && request.resource == "persistentvolumeclaims" && request.verb == "create" && ` +
		`request.userInfo.username == "alice" && object.spec.storageClassName == "dev"`
	groups = `"dev" in request.userInfo.groups && request.verb in ["create", "update"] && ` +
		`object.metadata.labels.exists(k, k == "owner" && object.metadata.labels[k] == request.userInfo.username)`
	thousand = `object.items.all(i, i > 0)`
)

func request(resource string) map[string]any {
	return map[string]any{"apiGroup": "", "resource": resource, "verb": "create",
		"userInfo": map[string]any{"username": "alice", "groups": []any{"system:authenticated", "qa", "dev"}}}
}

func object() map[string]any {
	items := make([]any, 0, 1000)
	for i := int64(1); i <= 1000; i++ {
		items = append(items, i)
	}
	return map[string]any{"items": items, "spec": map[string]any{"storageClassName": "dev"},
		"metadata": map[string]any{"labels": map[string]any{"app": "x", "tier": "y", "owner": "alice"}}}
}

func environment(b *testing.B) *cel.Env {
	env, err := cel.NewEnv(cel.EnableMacroCallTracking(), cel.Variable("request", cel.DynType), cel.Variable("object", cel.DynType))
	if err != nil {
		b.Fatal(err)
	}
	return env
}

func compiled(b *testing.B, env *cel.Env, text string) *cel.Ast {
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		b.Fatal(issues.Err())
	}
	return ast
}

// Optimised; with cost counted and limited, as Kubernetes runs it, or without.
func evaluate(b *testing.B, text string, counted bool) {
	env := environment(b)
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if counted {
		options = []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(10_000_000), cel.InterruptCheckFrequency(100)}
	}
	program, err := env.Program(compiled(b, env, text), options...)
	if err != nil {
		b.Fatal(err)
	}
	in := map[string]any{"request": request("persistentvolumeclaims"), "object": object()}
	for b.Loop() {
		if v, _, err := program.Eval(in); err != nil || v.Value() != true {
			b.Fatal(v, err)
		}
	}
}

// Evaluates with `object` unknown and prints what is left.
func reduce(b *testing.B, text, resource string) {
	env := environment(b)
	ast := compiled(b, env, text)
	program, err := env.Program(ast, cel.EvalOptions(cel.OptTrackState, cel.OptPartialEval))
	if err != nil {
		b.Fatal(err)
	}
	in, err := cel.PartialVars(map[string]any{"request": request(resource)}, cel.AttributePattern("object"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, details, _ := program.Eval(in)
		residual, err := env.ResidualAst(ast, details)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := cel.AstToString(residual); err != nil {
			b.Fatal(err)
		}
	}
}

func Benchmark(b *testing.B) {
	for name, text := range map[string]string{"kep": kep, "groups": groups, "thousand": thousand} {
		b.Run("evaluate/"+name, func(b *testing.B) { evaluate(b, text, false) })
		b.Run("evaluate_counted/"+name, func(b *testing.B) { evaluate(b, text, true) })
	}
	for name, text := range map[string]string{"kep": kep, "groups": groups} {
		b.Run("reduce/"+name, func(b *testing.B) { reduce(b, text, "persistentvolumeclaims") })
		b.Run("reduce_not_applicable/"+name, func(b *testing.B) { reduce(b, text, "pods") })
		b.Run("compile/"+name, func(b *testing.B) {
			env := environment(b)
			for b.Loop() {
				compiled(b, env, text)
			}
		})
	}
}
