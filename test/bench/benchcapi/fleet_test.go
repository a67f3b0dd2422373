package main

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestFleetOf: each cluster has its own objects, and refers to no others.
func TestFleetOf(t *testing.T) {
	seen := make(map[string]bool)
	for i := range 3 {
		objects, err := fleetOf(i)
		if err != nil || len(objects) != 6 {
			t.Fatalf("%d objects, %v; want 6", len(objects), err)
		}
		own := make(map[string]bool)
		for _, o := range objects {
			key := o.GetKind() + " " + o.GetName()
			if seen[key] {
				t.Errorf("two clusters have %s", key)
			}
			seen[key], own[key] = true, true
		}
		for _, o := range objects {
			for _, path := range [][]string{
				{"spec", "controlPlaneRef"},
				{"spec", "infrastructureRef"},
				{"spec", "machineTemplate", "spec", "infrastructureRef"},
				{"spec", "template", "spec", "bootstrap", "configRef"},
				{"spec", "template", "spec", "infrastructureRef"},
			} {
				ref, found, err := unstructured.NestedStringMap(o.Object, path...)
				if err != nil {
					t.Fatal(err)
				}
				if key := ref["kind"] + " " + ref["name"]; found && !own[key] {
					t.Errorf("%s %s refers to %s, which its cluster lacks", o.GetKind(), o.GetName(), key)
				}
			}
		}
	}
}
