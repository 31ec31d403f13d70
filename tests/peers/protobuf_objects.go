// Prints objects of every served kind as Kubernetes itself writes them: one line of JSON each, with the object and its Protobuf.
// Not part of the product: tests/conformance/data/protobuf/objects.jsonl was made by it, with the modules of Kubernetes.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// How the fields of an object are filled.
type filler struct {
	name  string
	items int  // of each list and map
	zero  bool // scalars are zero, also behind pointers
	next  int  // so that values differ
	deep  int  // how often a type may hold itself
}

func (f *filler) number() int {
	f.next++
	return f.next
}

func (f *filler) special(v reflect.Value) bool {
	n := f.number()
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		*p = metav1.Unix(int64(1700000000+n), 0)
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(time.Unix(int64(1600000000+n), int64(n%1000)*1000).UTC())
	case *metav1.Duration:
		p.Duration = time.Duration(n) * time.Second
	case *resource.Quantity:
		*p = resource.MustParse([]string{"0", "1", "100m", "2Gi", "1500", "3e3", "12345678901234567890"}[n%7])
		_ = p.String()
	case *intstr.IntOrString:
		if n%2 == 0 && !f.zero {
			*p = intstr.FromString(fmt.Sprint(n, "%"))
		} else if !f.zero {
			*p = intstr.FromInt32(int32(n) - 40)
		}
	case *runtime.RawExtension:
		p.Raw = []byte(fmt.Sprintf(`{"a":[1,"x",null],"n":%d}`, n))
	case *metav1.FieldsV1:
		p.Raw = []byte(fmt.Sprintf(`{"f:a%d":{}}`, n))
	case *apiextensionsv1.JSON:
		p.Raw = []byte([]string{`null`, `{"a":1.5}`, `"text"`, `[true]`, `7`}[1+n%4])
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		p.Allows = n%2 == 0
		if n%3 == 0 {
			p.Allows, p.Schema = true, &apiextensionsv1.JSONSchemaProps{Type: "integer"}
		}
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		if n%2 == 0 {
			p.Schema = &apiextensionsv1.JSONSchemaProps{Type: "integer"}
		} else {
			p.JSONSchemas = []apiextensionsv1.JSONSchemaProps{{Type: "string"}, {Type: "number"}}
		}
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		if n%2 == 0 {
			p.Schema = &apiextensionsv1.JSONSchemaProps{Type: "integer"}
		} else {
			p.Property = []string{"a", "b"}
		}
	default:
		return false
	}
	return true
}

func (f *filler) fill(v reflect.Value, above []reflect.Type) {
	t := v.Type()
	if t.Kind() == reflect.Struct {
		if f.special(v) {
			return
		}
		count := 0
		for _, a := range above {
			if a == t {
				count++
			}
		}
		if count > f.deep {
			return
		}
		above = append(append([]reflect.Type{}, above...), t)
	}
	switch t.Kind() {
	case reflect.Struct:
		for i := 0; i < t.NumField(); i++ {
			if t.Field(i).Type == reflect.TypeOf(metav1.TypeMeta{}) || t.Field(i).Tag.Get("json") == "-" {
				continue
			}
			f.fill(v.Field(i), above)
		}
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		f.fill(v.Elem(), above)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{0, byte(f.number()), 255})
			return
		}
		v.Set(reflect.MakeSlice(t, f.items, f.items))
		for i := 0; i < f.items; i++ {
			f.fill(v.Index(i), above)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		for i := 0; i < f.items; i++ {
			key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			key.SetString(fmt.Sprint("key-", (f.number()*7)%100))
			f.fill(value, above)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		if !f.zero {
			v.SetString([]string{"text-%d", "größe-%d", "a\"b\\c\n%d"}[f.number()%3])
			v.SetString(strings.Replace(v.String(), "%d", fmt.Sprint(f.next), 1))
		}
	case reflect.Bool:
		v.SetBool(!f.zero)
	case reflect.Int32, reflect.Int64, reflect.Int:
		if !f.zero {
			n := int64(f.number())
			v.SetInt([]int64{n, -n, n * 1000000}[n%3])
		}
	case reflect.Float64:
		if !f.zero {
			v.SetFloat(float64(f.number()) + 0.5)
		}
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	all := scheme.Scheme
	must(apiextensionsv1.AddToScheme(all))
	must(apiregistrationv1.AddToScheme(all))
	text := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, all, all, kjson.SerializerOptions{})
	binary := protobuf.NewSerializer(all, all)
	served := regexp.MustCompile(`^v\d+$`)
	notServed := regexp.MustCompile(`^(List|PodStatusResult|RangeAllocation|SerializedReference|ConversionReview|WatchEvent)$|Options$`)
	var kinds []schema.GroupVersionKind
	for gvk := range all.AllKnownTypes() {
		general := gvk.Group == "" && gvk.Version == "v1"
		if !served.MatchString(gvk.Version) || gvk.Group == "apidiscovery.k8s.io" || gvk.Group == "imagepolicy.k8s.io" {
			continue
		}
		if notServed.MatchString(gvk.Kind) && !(general && gvk.Kind == "DeleteOptions") {
			continue
		}
		kinds = append(kinds, gvk)
	}
	sort.Slice(kinds, func(i, j int) bool { return kinds[i].String() < kinds[j].String() })
	for _, gvk := range kinds {
		for _, f := range []filler{{name: "nothing"}, {name: "zeros", items: 1, zero: true, deep: 1}, {name: "everything", items: 2, deep: 1}, {name: "empty", deep: 1}} {
			isList := strings.HasSuffix(gvk.Kind, "List")
			if isList && f.name != "nothing" {
				continue // their items are objects of other lines
			}
			if f.items == 2 {
				f.items = 1 + len(gvk.Kind)%2
			}
			object, err := all.New(gvk)
			must(err)
			if f.name != "nothing" {
				f.fill(reflect.ValueOf(object).Elem(), nil)
			}
			object.GetObjectKind().SetGroupVersionKind(gvk)
			var asText, asBinary bytes.Buffer
			must(text.Encode(object, &asText))
			must(binary.Encode(object, &asBinary))
			line, err := json.Marshal(map[string]any{"case": f.name, "object": json.RawMessage(asText.Bytes()), "protobuf": base64.StdEncoding.EncodeToString(asBinary.Bytes())})
			must(err)
			fmt.Println(string(line))
		}
	}
}
