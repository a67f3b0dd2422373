package arrows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// door is the package through which untrusted YAML has to go.
const door = "fleet/documents"

// parses are the functions that read YAML, or JSON from an endless stream, by package. Nil:
// all functions of the package.
func parses() map[string][]string {
	yaml := []string{"Unmarshal", "UnmarshalStrict", "UnmarshalWithOptions", "NewDecoder", "YAMLToJSON", "YAMLToJSONStrict"}
	return map[string][]string{
		"sigs.k8s.io/yaml": yaml, "sigs.k8s.io/yaml/goyaml.v2": yaml, "sigs.k8s.io/yaml/goyaml.v3": yaml,
		"go.yaml.in/yaml/v2": yaml, "go.yaml.in/yaml/v3": yaml, "go.yaml.in/yaml/v4": yaml,
		"gopkg.in/yaml.v2": yaml, "gopkg.in/yaml.v3": yaml, "github.com/goccy/go-yaml": yaml, "github.com/ghodss/yaml": yaml,
		"k8s.io/apimachinery/pkg/util/yaml": nil,
		"k8s.io/client-go/tools/clientcmd":  {"Load", "LoadFromFile", "RESTConfigFromKubeConfig", "NewClientConfigFromBytes", "BuildConfigFromFlags", "NewNonInteractiveDeferredLoadingClientConfig"},
		"sigs.k8s.io/kustomize/kyaml/yaml":  {"Parse", "MustParse", "Unmarshal", "UnmarshalStrict", "NewDecoder", "ReadFile"},
		"helm.sh/helm/v4/pkg/chart/v2/loader": {
			"Load", "LoadArchive", "LoadDir", "LoadFile", "LoadFiles", "LoadValues", "Loader",
		},
		"encoding/json": {"NewDecoder"},
	}
}

// mayParse are the other functions that parse, with reasons: "package.function".
func mayParse() map[string]string {
	return map[string]string{
		"agent/wiring/kube.FromContent":                         "the door bounded the kubeconfig",
		"agent/wiring/kube.FromFile":                            "the kubeconfig of the person who runs the program",
		"agent/wiring/kube.FromPerson":                          "the same",
		"providers/workload/helm/sdk.newGetter":                 "the same",
		"providers/workload.newConn":                            "the same",
		"providers/distribution/kubeadm/inside.publish":         "the same",
		"providers/workload/helm/sdk.Chart":                     "unpack has the door bound what Helm parses",
		"providers/workload/helm/sdk.load":                      "Fairlead's own chart, which is in the program",
		"render/kustomize.load":                                 "the scan of the overlay read it through the door",
		"render/kustomize.withoutReferences":                    "the same",
		"agent/secrets.decode":                                  "bytes in memory, that the program encrypted",
		"agent/secrets/escrow.decode":                           "the same",
		"providers/infrastructure/openstack.refOf":              "the same, of a tag",
		"render/decode.canonicalJSON":                           "the same, that the program wrote",
		"providers/infrastructure/inmemory.handle":              "http.MaxBytesReader bounds the body",
		"providers/infrastructure/inmemory/kubeapi.etcdHandler": "the same",
		"providers/infrastructure/inmemory.watch":               "the simulated cloud answers, a value at a time",
		"providers/infrastructure/maas/region.Machines":         "MAAS answers, a machine at a time",
		"providers/infrastructure/docker/engine.Pull":           "the daemon answers, a message at a time",
		"providers/workload.stream":                             "an API server answers, an event at a time",
	}
}

// TestOneDoor: only the door parses YAML, except for functions that are named here with
// reasons. Tests and programs outside of the product may parse as they like.
func TestOneDoor(t *testing.T) {
	used, allowed, forbidden := make(map[string]bool), mayParse(), parses()
	for _, p := range newChecker(t).packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		if name == door {
			used[door] = true
			continue
		}
		if below(name, "test") || below(name, "tools") || strings.HasSuffix(name, "test") && name != "test" {
			continue
		}
		fset := token.NewFileSet()
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsing(f, forbidden, func(in, what string, at token.Pos) {
				if allowed[name+in] != "" {
					used[name+in] = true
					return
				}
				t.Errorf("%s: %s%s uses %s: read it through %s, or say in mayParse why not", fset.Position(at), name, in, what, door)
			})
		}
	}
	if !used[door] {
		t.Errorf("there is no %s", door)
	}
	for may := range allowed {
		if !used[may] {
			t.Errorf("%s may parse, and does not", may)
		}
	}
}

// parsing calls found with each use of a forbidden function in f, and the function that
// contains it.
func parsing(f *ast.File, forbidden map[string][]string, found func(in, what string, at token.Pos)) {
	names := make(map[string]string) // of imports, to their path
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		if _, ok := forbidden[p]; !ok {
			continue
		}
		name := path.Base(p)
		if v := name; strings.HasPrefix(v, "v") && len(v) == 2 { // yaml/v3
			name = path.Base(path.Dir(p))
		}
		if name, _, _ = strings.Cut(name, "."); i.Name != nil { // yaml.v3
			name = i.Name.Name
		}
		if name == "." || name == "_" {
			found("", "an import of "+p+" without its name", i.Pos())
		}
		names[name] = p
	}
	for _, d := range f.Decls {
		in := ""
		if fn, ok := d.(*ast.FuncDecl); ok {
			in = "." + fn.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			e, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := e.X.(*ast.Ident)
			if !ok || names[x.Name] == "" {
				return true
			}
			if list := forbidden[names[x.Name]]; list == nil || slices.Contains(list, e.Sel.Name) {
				found(in, names[x.Name]+"."+e.Sel.Name, e.Pos())
			}
			return true
		})
	}
}
