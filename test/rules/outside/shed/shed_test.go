package shed

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
)

// TestConformance holds the provider against what the planner relies on.
func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Options{
		Provider: Name,
		Around:   synctest.Test, // settle windows take no time
		New: func(t testing.TB) providers.Infrastructure {
			return New(t.TempDir())
		},
		Cluster: cluster,
		Foreign: func(t testing.TB, p providers.Infrastructure, name string) func() bool {
			file := filepath.Join(at(p), machines, name)
			write(t, file, `{"id": "theirs"}`)
			return func() bool { _, err := os.Stat(file); return err == nil }
		},
		FailListing: func(t testing.TB, p providers.Infrastructure, nth int) {
			for i, in := range []string{clusters, machines} { // as Observe lists them
				unreadable := filepath.Join(at(p), in, "unreadable")
				if err := os.RemoveAll(unreadable); err != nil {
					t.Fatal(err)
				}
				if i+1 == nth {
					write(t, filepath.Join(unreadable, "file"), "")
				}
			}
		},
		Hooks: conformance.Hooks{
			Changes:  func(t testing.TB, p providers.Infrastructure) string { return strings.Join(files(t, p, true), "\n") },
			Contents: func(t testing.TB, p providers.Infrastructure) []string { return files(t, p, false) },
			Retag:    retag,
			FailBoot: func(t testing.TB, p providers.Infrastructure) {
				write(t, filepath.Join(at(p), "fault"), "the shed has no power")
			},
			FailureDomain: "left",
			UserDataLimit: userDataLimit,
		},
		Deviations: map[string]string{
			"ChangesAreTold":             "nothing tells when a file changes: the planner looks again",
			"EndpointServes":             "whoever makes the shed serves the endpoint",
			"KnownEndpointServes":        "whoever makes the shed serves the endpoint",
			"RememberedPlace":            "a shed is one place",
			"RefusalsAreTold":            "Git names nothing that a shed would have to have",
			"MistakesChangeNothing":      "Git names nothing that a shed would have to have",
			"PlaceIsShared":              "a folder answers: no shed waits for another",
			"FailedRequest":              "a file is there or is not, when the request ends",
			"ReleasedMachine":            "a machine is its file: when it is gone, nothing is left",
			"RebootedMachine":            "a machine that is off is gone: there is nothing to switch on",
			"LostAnswerOfCreate":         "the file system answers",
			"LostAnswerOfDelete":         "the file system answers",
			"LostAnswerOfInfrastructure": "the file system answers",
			"DeletionIsInterrupted":      "a machine is one file, which is there or is not",
			"AddressIsGivenOnce":         "a machine has no address of its own",
			"LostRecordsProveNothing":    "a machine is its file: without that nothing runs",
			"OneComputerIsOneHost":       "a shed has no hosts that Git could name twice",
			"EndpointIsNoMachines":       "a machine has no address of its own",
			"SecondLookPrecedesAChange":  "a machine is the file of its name: no other cluster has that",
		},
	})
}

// cluster is one that a shed takes.
func cluster() fleet.Cluster {
	object := func(kind, spec string) fleet.Object {
		return fleet.Object{GVK: schema.GroupVersionKind{Group: group, Version: "v1beta1", Kind: kind}, Name: "test", Spec: []byte(spec)}
	}
	template := object(templateKind, `{"size": "small"}`)
	return fleet.Cluster{
		Infrastructure: object(clusterKind, `{"controlPlaneEndpoint": {"host": "192.0.2.10", "port": 6443}, "shelves": ["left", "right"]}`),
		ControlPlane:   fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Replicas: 1, Version: "v1.34.1", Template: "1-cp", Infrastructure: template},
		Workers:        []fleet.Pool{{Name: "md-0", Role: fleet.RoleWorker, Replicas: 1, Version: "v1.34.1", Template: "1-md", Infrastructure: template}},
	}
}

// at returns the folder of p.
func at(p providers.Infrastructure) string { return string(p.(*Provider).shed) }

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// files lists what is in the shed of p, with what is in the files, or without.
func files(t testing.TB, p providers.Infrastructure, content bool) []string {
	t.Helper()
	var out []string
	for _, in := range []string{clusters, machines} {
		found, err := filepath.Glob(filepath.Join(at(p), in, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			line := in + " " + filepath.Base(f)
			if content {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				line += " " + string(text)
			}
			out = append(out, line)
		}
	}
	return out
}

// retag changes the tags of a machine, as somebody with an editor does.
func retag(t testing.TB, p providers.Infrastructure, id fleet.ProviderID, change func(map[string]string)) {
	t.Helper()
	all, err := p.(*Provider).shed.list(t.Context(), machines, func(map[string]string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.providerID() != id {
			continue
		}
		if m.Tags == nil {
			m.Tags = make(map[string]string)
		}
		change(m.Tags)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		write(t, m.file, string(text))
		return
	}
	t.Fatalf("there is no machine %s", id)
}
