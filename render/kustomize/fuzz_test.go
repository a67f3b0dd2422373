package kustomize_test

import (
	"testing"
	"testing/fstest"

	"fairlead.dev/render/kustomize"
)

// FuzzScan holds that no kustomization and no manifest makes the scan or the
// build panic, run away or go without a message.
func FuzzScan(f *testing.F) {
	for _, k := range []string{
		"resources: [m.yaml]", "resources: [../base]\nnamePrefix: a-", "resources: [m.yaml]\npatches: [{path: p.yaml}]",
		"components: [../c]", "configMapGenerator: [{name: a, files: [m.yaml], envs: [p.yaml]}]", "openapi: {path: m.yaml}",
		"resources: [m.yaml]\nreplacements: [{path: p.yaml}]", "transformers: [m.yaml]", "resources: &a [*a]", "resources: ['https://127.0.0.1:1/a']",
		"resources: [m.yaml]\nvars: [{name: A, objref: {kind: A, name: a, apiVersion: v1}}]",
		"resources: [m.yaml]\nreplicas: [{name: a, count: 2}]\nimages: [{name: a, newTag: b}]\nlabels: [{pairs: {a: b}, includeSelectors: true}]",
	} {
		f.Add([]byte(k), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"))
		f.Add([]byte(k), []byte("- op: add\n  path: /a\n  value: b\n"))
	}
	k := kustomize.New(kustomize.DefaultLimits())
	f.Fuzz(func(t *testing.T, kustomization, manifest []byte) {
		base := []byte("resources: [m.yaml]\n")
		tree := fstest.MapFS{
			"o/kustomization.yaml": {Data: kustomization}, "o/m.yaml": {Data: manifest}, "o/p.yaml": {Data: manifest},
			"base/kustomization.yaml": {Data: base}, "base/m.yaml": {Data: manifest},
		}
		s, problem := k.Scan(tree, "o")
		if problem == nil {
			_, problem = k.Build(s)
		}
		if problem != nil && problem.Message == "" {
			t.Fatalf("a problem without a message: %+v", problem)
		}
	})
}
