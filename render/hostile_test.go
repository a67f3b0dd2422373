package render_test

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"fairlead.dev/render"
)

// A hostileCase is a fleet of one good overlay and one hostile one.
type hostileCase struct {
	reason string
	files  string            // of the overlay clusters/x and around it
	big    map[string][]byte // large files, which are generated
	want   string            // part of the one problem
}

// kust returns a hostile overlay whose kustomization has one more field.
func kust(field string) string {
	return "-- clusters/x/kustomization.yaml --\nresources: [c.yaml]\n" + field + "\n-- clusters/x/c.yaml --\n" + clusterYAML("x", "x")
}

// manifest returns a hostile overlay with the given manifest.
func manifest(content string) string {
	return "-- clusters/x/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/x/c.yaml --\n" + content + "\n"
}

func hostileCases() map[string]hostileCase {
	cases := map[string]hostileCase{
		"AliasBomb":     {"aliases of aliases end the process if kustomize expands them", manifest(aliasBomb()), nil, "with aliases expanded"},
		"AliasOfSelf":   {"an alias within its anchor has no end", manifest("a: &a [*a]"), nil, "the alias *a is within what it stands for"},
		"BombInPatch":   {"an inline patch is YAML as well", kust("patches:\n- patch: |\n    " + strings.ReplaceAll(aliasBomb(), "\n", "\n    ")), nil, "patches[0].patch: "},
		"BombInKust":    {"the kustomization is YAML as well", "-- clusters/x/kustomization.yaml --\n" + aliasBomb(), nil, "with aliases expanded"},
		"Nesting9000":   {"deep nesting exhausts stacks", manifest("a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000)), nil, "levels deep"},
		"Nesting11000":  {"deeper nesting, too", manifest("a: " + strings.Repeat("[", 11000) + strings.Repeat("]", 11000)), nil, "levels deep"},
		"NestingBlock":  {"nesting without brackets", manifest(strings.Repeat("- ", 9000) + "a"), nil, "levels deep"},
		"NestingBlock2": {"nesting without brackets, above the parser's own limit", manifest(strings.Repeat("- ", 11000) + "a"), nil, "nested too deep"},
		"Documents":     {"100,000 empty documents", manifest(strings.Repeat("---\n", 100_000)), nil, "more than 1000 documents"},
		"Large":         {"a file of 100 MB is not even read", kust("configMapGenerator: [{name: m, files: [big]}]"), map[string][]byte{"clusters/x/big": make([]byte, 100<<20)}, "104857600 bytes"},
		"LargeYAML":     {"nor is a manifest", kust("patches: [{path: big}]"), map[string][]byte{"clusters/x/big": bytes.Repeat([]byte("a: b\n"), 20<<20)}, "bytes, more than"},
		"ManyNodes":     {"a file within the size that makes a million nodes", manifest("a: [" + strings.Repeat("0,", 900_000) + "0]"), nil, "more than 50000 keys"},
		"UTF16":         {"another encoding", manifest("\xff\xfea\x00:\x00 \x00b\x00"), nil, "UTF-16 or binary"},
		"NotUTF8":       {"no encoding at all", manifest("a: \xc3\x28"), nil, "not UTF-8"},
		"Duplicate":     {"two parsers may take two keys", manifest(clusterYAML("x", "x") + "kind: Other"), nil, `the key "kind" is there twice, first in line 2`},
		"Infinite":      {"JSON has no such number", manifest(clusterYAML("x", "x") + "spec: {replicas: 1e309}"), nil, "1e309 is not a number that JSON can hold"},
		"Tag":           {"tags make types of their own", manifest(clusterYAML("x", "x") + "spec: !!python/object:os.system {a: b}"), nil, "is not supported"},
		"ComplexKey":    {"a mapping as a key", manifest(clusterYAML("x", "x") + "spec: {{a: b}: c}"), nil, "a key is a list or a mapping"},
		"NoYAML":        {"a file that is something else", manifest("a: b: c"), nil, "not valid YAML"},
		"NoObject":      {"YAML that is no object", manifest("- a"), nil, "not an object"},
		"NoKind":        {"an object without a kind", manifest("apiVersion: v1\nmetadata: {name: a}"), nil, "an object has no kind"},
		"Cycle":         {"two folders that include each other", "-- clusters/x/kustomization.yaml --\nresources: [../../y]\n-- y/kustomization.yaml --\nresources: [../clusters/x]\n", nil, "in a circle: clusters/x → y → clusters/x"},
		"CycleParts":    {"two components that include each other", kust("components: [../../y]") + "-- y/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncomponents: [../z]\n-- z/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncomponents: [../y]\n", nil, "in a circle: clusters/x → y → z → y"},
		"CycleSelf":     {"a folder that includes itself", "-- clusters/x/kustomization.yaml --\nresources: [.]\n", nil, "in a circle"},
		"Parent":        {"a folder that includes the one above it", "-- clusters/x/y/a.yaml --\n-- clusters/x/kustomization.yaml --\nresources: [../..]\n-- kustomization.yaml --\nresources: [good.yaml]\n", nil, "in a circle"},
		"Diamond":       {"each level includes the next one twice", diamond(12), nil, "more than 1000 files and folders"},
		"DiamondDeep":   {"a chain without an end", diamond(40), nil, "more than 20 levels deep"},
		"Openapi":       {"it changes every other build", kust("openapi: {path: s.json}"), nil, "openapi: "},
		"HelmCharts":    {"charts are programs", kust("helmCharts: [{name: a, repo: https://example.com}]"), nil, "helmCharts: charts are not inflated"},
		"HelmOld":       {"so they are by their old name", kust("helmChartInflationGenerator: [{chartName: a}]"), nil, "helmCharts: charts are not inflated"},
		"HelmGlobals":   {"and by what configures them", kust("helmGlobals: {chartHome: /etc}"), nil, "helmGlobals: charts are not inflated"},
		"Exec":          {"an exec function", kust("transformers: [t.yaml]\n-- clusters/x/t.yaml --\napiVersion: a/v1\nkind: T\nmetadata:\n  name: t\n  annotations: {config.kubernetes.io/function: 'exec: {path: ./run}'}"), nil, "is a function and is not run"},
		"Container":     {"a container function, written in place", kust("transformers:\n- |\n  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata:\n    name: t\n    annotations:\n      config.kubernetes.io/function: 'container: {image: a}'"), nil, "is a function and is not run"},
		"Plugin":        {"a plugin", kust("transformers:\n- |\n  apiVersion: a/v1\n  kind: T\n  metadata: {name: t}"), nil, "the transformer a/v1 T is not run"},
		"PluginName":    {"a plugin that is called as a built-in", kust("transformers:\n- |\n  apiVersion: a/v1\n  kind: PrefixTransformer\n  metadata: {name: t}"), nil, "the transformer a/v1 PrefixTransformer is not run"},
		"Empty":         {"a reference to nothing", kust("components: ['']"), nil, "the reference is empty"},
		"HelmPlugin":    {"a built-in that runs a program", kust("transformers:\n- |\n  apiVersion: builtin\n  kind: HelmChartInflationGenerator\n  metadata: {name: t}"), nil, "is not run"},
		"PatchPlugin":   {"a built-in that reads files", kust("transformers:\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: t}\n  path: https://example.com/a"), nil, "is not run"},
		"Generators":    {"generators are programs", kust("generators: [g.yaml]"), nil, "generators are programs"},
		"Validators":    {"validators are programs", kust("validators: [g.yaml]"), nil, "validators are programs"},
		"Behavior":      {"a generator that does what nobody knows", kust("configMapGenerator: [{name: g, behavior: destroy, literals: [a=b]}]"), nil, `configMapGenerator[0].behavior: "destroy" is no behavior`},
		"ReplaceNone":   {"a generator that replaces nothing", kust("configMapGenerator: [{name: g, behavior: replace, literals: [a=b]}]"), nil, "kustomization.yaml: ConfigMap g does not exist; cannot merge or replace"},
		"Twice":         {"an object that is there twice", kust("") + "-- clusters/x/kustomization.yaml --\nresources: [c.yaml, ../../y]\n-- y/kustomization.yaml --\nresources: [c.yaml]\n-- y/c.yaml --\n" + clusterYAML("x", "x"), nil, "kustomization.yaml: may not add resource with an already registered id: Cluster"},
		"BadMetadata":   {"annotations that are a list", manifest("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: [x]}"), nil, "kustomization.yaml: cannot add path annotation for './c.yaml'"},
		"UnknownField":  {"a field that does not exist", kust("resource: [a]"), nil, `kustomization.yaml:2: resource: unknown field "resource" (did you mean "resources"?)`},
		"UnknownInList": {"the error of the decoder has no path", kust("patches:\n- {path: c.yaml}\n- ptch: c"), nil, `kustomization.yaml:4: patches[1].ptch: unknown field "ptch" (did you mean "patch"?)`},
		"Tab":           {"the line is told once", manifest("a:\n\tb: c"), nil, `clusters/x/c.yaml:2: a tab indents the line`},
		"Submodule":     {"Git lists it in a file", kust("components: [../../vendor/c]") + "-- .gitmodules --\n[submodule \"v\"]\n\tpath = vendor\n", nil, `components[0]: "../../vendor/c" is in the submodule vendor, whose content is not fetched (pin its`},
		"EmptyModule":   {"a clone has an empty folder", kust("components: [../../vendor]") + "-- .gitmodules --\n[submodule \"v\"]\n\tpath = vendor\n-- vendor/README --\n", nil, `the folder vendor is in the submodule vendor, whose content is not fetched (pin its`},
		"Missing":       {"a file that does not exist", kust("patches: [{path: p.yaml}]"), nil, `patches[0].path: "p.yaml" does not exist`},
		"NoTarget":      {"a patch of nothing", kust("patches: [{path: p.yaml}]\n-- clusters/x/p.yaml --\n" + clusterYAML("x", "other")), nil, "no resource matches strategic merge patch"},
		"TwoFiles":      {"two kustomization files", kust("") + "-- clusters/x/kustomization.yml --\nresources: [c.yaml]\n", nil, "more than one kustomization file"},
		"Emptied":       {"a kustomization that is empty", "-- clusters/x/kustomization.yaml --\n{}\n", nil, "the kustomization is empty"},
		"NoCluster":     {"an overlay without a cluster", manifest("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}"), nil, "renders no Cluster"},
		"SameName":      {"a second definition of one cluster", manifest(clusterYAML("good", "good")), nil, "the cluster is defined in clusters/good as well"},
		"Panic":         {"a decoder that fails", manifest(clusterYAML("x", "x") + "spec: {panic: true}"), nil, "decoding failed on it: fake"},
		"NoComponent":   {"a component that is none", kust("components: [../../y]\n-- y/kustomization.yaml --\nnamespace: a"), nil, "it is included as a component"},
		"Component":     {"a component as a resource", "-- clusters/x/kustomization.yaml --\nresources: [../../y]\n-- y/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamespace: a\n", nil, "list it under components"},
		"ValuesList":    {"a value that is a mapping would be empty", manifest(clusterYAML("x", "x") + valuesYAML("{A: {b: c}}")), nil, "ConfigMap values: data.A: it is not a text"},
		"ValuesName":    {"a value that no expression can name", manifest(clusterYAML("x", "x") + valuesYAML("{a-b: c}")), nil, `ConfigMap values: data: "a-b" cannot be the name of a variable`},
		"ValuesNone":    {"values without names", manifest(clusterYAML("x", "x") + valuesYAML("[a]")), nil, "ConfigMap values: data: it is not a mapping"},
		"Unset":         {"a variable that nobody set", manifest(clusterYAML("x", "x") + "spec: {version: '${V}'}"), nil, "Cluster x/x: spec.version: the variable V has no value"},
		"Shell":         {"an expression of the shell", manifest(clusterYAML("x", "x") + "spec: {version: '${V/a/b}'}"), nil, "the expression ${V/a/b} is not supported"},
		"Vars":          {"values that are pasted anywhere", kust("vars: [{name: A, objref: {kind: Cluster, name: x, apiVersion: cluster.x-k8s.io/v1beta2}}]"), nil, "vars are not supported"},
		"Copy":          {"a JSON patch that doubles an object, thirty times", kust("patches: [{target: {kind: Cluster}, path: p.yaml}]\n-- clusters/x/p.yaml --\n" + strings.Repeat("- {op: copy, from: /metadata, path: /metadata/a}\n", 30)), nil, "the operation copy is not supported"},
		"Directive":     {"an instruction that kustomize keeps in a list", kust("patches:\n- patch: '{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: x}, spec: {a: [{b: c, $patch: dlete}]}}'"), nil, "patches[0]: \"dlete\" is not a value of $patch"},
		"CopyInline":    {"the same in place", kust("patches:\n- target: {kind: Cluster}\n  patch: '[{\"op\": \"copy\", \"from\": \"/metadata\", \"path\": \"/metadata/a\"}]'"), nil, "the operation copy is not supported"},
		"Doubling":      {"replacements that double a field, thirty times", kust("replacements:\n" + strings.Repeat("- {source: {kind: Cluster, fieldPath: spec}, targets: [{select: {kind: Cluster}, fieldPaths: [spec.a], options: {create: true}}]}\n", 30)), nil, "write into a field that one of them reads"},
		"DoublingText":  {"replacements that double a text, thirty times", kust("replacements: [{path: r.yaml}]\n-- clusters/x/r.yaml --\n" + strings.Repeat("- {source: {kind: Cluster}, targets: [{select: {kind: Cluster}, fieldPaths: [metadata.name], options: {delimiter: '-', index: -1}}]}\n", 30)), nil, "write into a field that one of them reads"},
		"CopyMany":      {"replacements that copy a large field into many objects", kust("replacements: [{source: {kind: ConfigMap, name: big, fieldPath: data.a}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.b], options: {create: true}}]}]") + configMaps(200, 100_000), nil, "replacements may copy"},
		"CopyGenerated": {"the same from a file that is generated from", kust("configMapGenerator: [{name: g, files: [big]}]\nreplacements: [{source: {kind: ConfigMap, name: g, fieldPath: data.big}, targets: [{select: {kind: Other}, fieldPaths: [a], options: {create: true}}]}]") + strings.ReplaceAll(configMaps(200, 1), "ConfigMap", "Other"), map[string][]byte{"clusters/x/big": make([]byte, 100_000)}, "replacements may copy"},
		"Patches":       {"patches that each go through all objects", kust("patches:\n"+strings.Repeat("- {target: {kind: A}, patch: '[{op: remove, path: /a}]'}\n", 1000)) + configMaps(20, 1), nil, "1000 patches for each of 21 objects"},
		"PatchesBelow":  {"the same, spread over kustomizations", "-- clusters/x/kustomization.yaml --\nresources: [a, b, c]\n" + patched("clusters/x/a", 400) + patched("clusters/x/b", 400) + patched("clusters/x/c", 400), nil, "more than kustomize gets through"},
		"PatchesLarge":  {"patches of a large object", kust("patches:\n"+strings.Repeat("- {target: {kind: A}, patch: '[{op: remove, path: /a}]'}\n", 100)) + configMaps(1, 1<<20), nil, "100 patches on files of"},
		"Targets":       {"replacements without number", kust("replacements: [{source: {kind: Cluster}, targets: [{select: {kind: Cluster}, fieldPaths: [a" + strings.Repeat(", a", 1000) + "]}]}]"), nil, "more than 500 fields"},
		"LongPrefix":    {"a name of a megabyte", kust("namePrefix: " + strings.Repeat("x", 1<<20)), nil, "more than 253 characters"},
		"LongImage":     {"an image of a megabyte", kust("images: [{name: a, newName: " + strings.Repeat("x", 1<<20) + "}]"), nil, "more than 1024 characters"},
		"LongNotes":     {"a long annotation on many objects", "-- clusters/x/kustomization.yaml --\nresources: [m.yaml]\ncommonAnnotations: {a: " + strings.Repeat("x", 1<<20) + "}\n-- clusters/x/m.yaml --\n" + strings.Repeat("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", 100), nil, "for each of 100 objects"},
		"LongFile":      {"the same in the file of a transformer", transformed("AnnotationsTransformer", "annotations: {a: "+strings.Repeat("x", 1<<20)+"}"), nil, "for each of 100 objects"},
		"LongName":      {"a prefix of a megabyte in a file", transformed("PrefixTransformer", "prefix: "+strings.Repeat("x", 1<<20)), nil, "for each of 100 objects"},
		"LongPath":      {"a path of a megabyte that objects get", "-- clusters/x/kustomization.yaml --\nresources: [m.yaml]\nconfigurations: [t.yaml]\ncommonAnnotations: {a: b}\n-- clusters/x/t.yaml --\ncommonAnnotations: [{path: " + strings.Repeat("x", 1<<20) + ", create: true}]\n-- clusters/x/m.yaml --\n" + hundred, nil, "for each of 100 objects"},
		"Injection":     {"a value that would be a second document stays a text", "-- clusters/x/.env --\nV=a\\n---\\nkind: Cluster\nbad line\n" + manifest(clusterYAML("x", "${V}")), nil, "line 2 is not NAME=value"},
	}
	refs := map[string]string{
		"http": "http://127.0.0.1:9/a.yaml", "https": "HTTPS://127.0.0.1:9/a.yaml", "file": "file:///etc/passwd",
		"ssh": "ssh://git@localhost/a/b", "scp": "git@localhost:a/b", "git": "git::https://127.0.0.1:9/a/b",
		"github": "github.com/a/b?ref=c", "githubScp": "github.com:a/b", "ref": "../b?ref=main", "absolute": "/etc/passwd",
		"windows": `C:\a`, "up": "../../../etc/passwd",
	}
	// Why each is refused; the others are remote.
	why := map[string]string{"absolute": "is an absolute path", "windows": "is an absolute path", "up": "is outside of the repository"}
	for name, ref := range refs {
		if why[name] == "" {
			why[name] = "is a remote reference"
		}
		for field, text := range map[string]string{
			"resources": "resources: [c.yaml, %q]", "components": "components: [%q]", "bases": "bases: [%q]", "crds": "crds: [%q]",
			"configurations": "configurations: [%q]", "patches": "patches: [{path: %q}]", "patchesStrategicMerge": "patchesStrategicMerge: [%q]",
			"patchesJson6902": "patchesJson6902: [{path: %q, target: {kind: Cluster}}]", "replacements": "replacements: [{path: %q}]",
			"transformers": "transformers: [%q]", "files": "configMapGenerator: [{name: m, files: [%q]}]", "keyed": "secretGenerator: [{name: m, files: [k=%q]}]",
			"envs": "configMapGenerator: [{name: m, envs: [%q]}]", "env": "secretGenerator: [{name: m, env: %q}]",
		} {
			if field == "files" && strings.Contains(ref, "=") {
				continue // the equals sign makes key and path of it
			}
			kustomization := fmt.Sprintf(strings.ReplaceAll(text, "%q", "'%s'"), ref)
			if field == "keyed" {
				kustomization = "secretGenerator: [{name: m, files: ['k=" + ref + "']}]"
			}
			if field != "resources" {
				kustomization += "\nresources: [c.yaml]"
			}
			cases["Ref/"+field+"/"+name] = hostileCase{
				"nothing is fetched, and nothing is read outside of the repository",
				"-- clusters/x/c.yaml --\n" + clusterYAML("x", "x") + "-- clusters/x/kustomization.yaml --\n" + kustomization + "\n", nil,
				fmt.Sprintf("%q %s", ref, why[name]),
			}
		}
	}
	return cases
}

// hundred are a hundred objects.
var hundred = strings.Repeat("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", 100)

// transformed is an overlay of a hundred objects with a built-in transformer in a
// file.
func transformed(kind, field string) string {
	return "-- clusters/x/kustomization.yaml --\nresources: [m.yaml]\ntransformers: [t.yaml]\n-- clusters/x/m.yaml --\n" + hundred +
		"-- clusters/x/t.yaml --\napiVersion: builtin\nkind: " + kind + "\nmetadata: {name: t}\n" + field + "\nfieldSpecs: [{path: metadata/name}]\n"
}

// valuesYAML is a document with values.
func valuesYAML(data string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, annotations: {fairlead.dev/substitute: 'true'}}\ndata: " + data + "\n"
}

// configMaps returns a file of n ConfigMaps, of which the first has a text of
// size bytes, as part of the overlay that kust returns.
func configMaps(n, size int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata: {a: %s}\n", strings.Repeat("x", size))
	for i := range n - 1 {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", i)
	}
	return b.String()
}

// patched returns a kustomization in dir with ten objects and n patches.
func patched(dir string, n int) string {
	return "-- " + dir + "/kustomization.yaml --\nresources: [m.yaml]\npatches:\n" +
		strings.Repeat("- {target: {kind: A}, patch: '[{op: remove, path: /a}]'}\n", n) +
		"-- " + dir + "/m.yaml --\n" + strings.ReplaceAll(configMaps(10, 1), "{name: ", "{name: "+strings.ReplaceAll(dir, "/", "-"))
}

func aliasBomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}

// diamond returns n folders, each of which includes the next one twice.
func diamond(n int) string {
	var b strings.Builder
	b.WriteString("-- clusters/x/kustomization.yaml --\nresources: [../../d/00]\n")
	for i := range n {
		fmt.Fprintf(&b, "-- d/%02d/kustomization.yaml --\nresources: [../%02d, ../%02d]\n", i, i+1, i+1)
	}
	fmt.Fprintf(&b, "-- d/%02d/kustomization.yaml --\nresources: [m.yaml]\n-- d/%02d/m.yaml --\n%s", n, n, clusterYAML("x", "x"))
	return b.String()
}

// Each hostile overlay gives exactly one clear problem, and the other overlay
// goes on.
func TestHostile(t *testing.T) {
	for name, tc := range hostileCases() {
		t.Run(name, func(t *testing.T) {
			good := "-- clusters/good/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/good/c.yaml --\n" + clusterYAML("good", "good")
			tr := tree(good + tc.files)
			for file, data := range tc.big {
				tr.MapFS[file] = &fstest.MapFile{Data: data}
			}
			f := newBuilder(render.Options{}).render(t, "sha1:1", tr)
			problems := f.Problems
			if name == "SameName" {
				if got := keys(f); len(got) != 0 {
					t.Errorf("%s: rendered %q, want neither", tc.reason, got)
				}
				if len(problems) != 2 || !strings.Contains(problems[0].Message, "clusters/x") {
					t.Fatalf("%s: got %q, want one problem for each of the two", tc.reason, lines(problems))
				}
				problems = problems[1:]
			} else if got := keys(f); len(got) != 1 || got[0] != "good/good" {
				t.Errorf("%s: rendered %q, want the good cluster and nothing else", tc.reason, got)
			}
			if len(problems) != 1 || !strings.Contains(problems[0].String(), tc.want) {
				t.Fatalf("%s: got problems %q, want one with %q", tc.reason, lines(problems), tc.want)
			}
			if p := problems[0]; p.Overlay != "clusters/x" || p.File == "" || len(p.Message) > 400 {
				t.Errorf("%s: the problem has no place, or no end: %+v", tc.reason, p)
			}
		})
	}
}

// All hostile overlays together stay within the memory that an agent may have.
func TestHostileMemory(t *testing.T) {
	all := &memTree{MapFS: fstest.MapFS{}}
	for name, tc := range hostileCases() {
		if len(tc.big) > 0 || strings.HasPrefix(name, "Ref/") || strings.Contains(tc.files, "-- y/") || strings.Contains(tc.files, "-- d/") {
			continue
		}
		for file, f := range tree(tc.files).MapFS {
			all.MapFS[strings.Replace(file, "clusters/x", "clusters/"+strings.ToLower(name), 1)] = f
		}
	}
	maps.Copy(all.MapFS, tree(diamond(12)).MapFS)
	// The largest files that are read at all.
	for i := range 4 {
		dir := fmt.Sprintf("clusters/large%d", i)
		maps.Copy(all.MapFS, tree(strings.ReplaceAll(kust("configMapGenerator: [{name: m, files: [big]}]\npatches: [{path: p.yaml}]"), "clusters/x", dir)).MapFS)
		all.MapFS[dir+"/big"] = &fstest.MapFile{Data: bytes.Repeat([]byte("x"), 2<<20)}
		all.MapFS[dir+"/p.yaml"] = &fstest.MapFile{Data: []byte(clusterYAML("x", "x") + "spec:\n  a: [" + strings.Repeat("0,", 45_000) + "0]\n")}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // an agent's, whatever the environment says
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak, stop, done := uint64(0), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse+m.StackInuse)
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	f := newBuilder(render.Options{Parallelism: 2}).render(t, "sha1:1", all)
	close(stop)
	<-done
	if len(f.Problems) < 20 {
		t.Errorf("got %d problems, want those of all overlays", len(f.Problems))
	}
	t.Logf("peak %d MiB, %d MiB before", peak>>20, before.HeapInuse>>20)
	if peak > 256<<20 {
		t.Errorf("rendering took %d MiB, want at most 256", peak>>20)
	}
}
