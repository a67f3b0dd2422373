// Package hostile throws what is small to write and large to read at every door by which
// bytes come in that somebody else wrote: each gives one clear problem, takes little
// memory, and holds nothing else up.
package hostile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"fairlead.dev/test/run/short"
)

// A row is one thing that somebody hostile, or careless, can write.
type row struct {
	door, name string
	want       string // in the one problem
	// try has the door read it. It returns what the door says is wrong, a problem an
	// element, and whether all that has nothing to do with it goes on.
	try func(t *testing.T) (problems []string, others bool)
}

// one returns a problem as a row has it.
func one(err error) []string {
	if err == nil {
		return nil
	}
	return []string{err.Error()}
}

// ofFleet are the rows of a fleet's repository.
func ofFleet() []row {
	var rows []row
	most := bomb{name: "as much as is parsed", text: "---\na: [" + strings.Repeat("[],", 190_000) + "]\n", want: "has no apiVersion", literal: true}
	for door, files := range fleetDoors() {
		for _, b := range append(bombs(), most) {
			if files(b) == nil || b.name == most.name && door != "addon of a generator" {
				continue
			}
			want := b.want
			if door == "addon in a Secret" && !b.outside {
				want = "the manifests cannot be read" // and nothing of what is in there
			}
			rows = append(rows, row{door, b.name, want, func(t *testing.T) ([]string, bool) {
				clusters, problems := rendered(t, files(b))
				var out []string
				for _, p := range problems {
					if p.Overlay != "clusters/x/x" || p.File == "" {
						t.Errorf("the problem has no place: %+v", p)
					}
					out = append(out, p.String())
				}
				return out, slices.Equal(clusters, []string{"prod/eu-1", "staging/eu-2"})
			}})
		}
	}
	for _, b := range bombs() {
		rows = append(rows, row{"fleet.yaml", b.name, b.want, func(t *testing.T) ([]string, bool) {
			_, problems := rendered(t, map[string]string{"fleet.yaml": "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\n" + b.text})
			var out []string
			for _, p := range problems {
				out = append(out, p.String())
			}
			return out, true // an agent stays at the revision before
		}})
	}
	return rows
}

// ofStatus are the rows of a status branch.
func ofStatus() []row {
	var rows []row
	for door, file := range map[string]struct{ name, kind string }{
		"report": {"clusters/prod/eu-2.yaml", "ClusterReport"}, "report of the fleet": {"fleet.yaml", "FleetReport"}, "owner": {"owner.yaml", "Owner"},
		"request": {"requests/prod/eu-1/replace-a.yaml", "Request"}, "scale": {"scales/prod/eu-1/md-1.yaml", "Scale"},
	} {
		many := bomb{name: "as much as is parsed", text: "a: [" + strings.Repeat("[],", 290_000) + "]\n", want: ""}
		for _, b := range append(bombs(), many) {
			if b.want == "" && (door == "report" || door == "report of the fleet") {
				continue // fields that are not known are passed over
			}
			want := b.want
			if door == "request" && len(b.text) > 256<<10 {
				want = "bytes, more than the 262144 that are read"
			}
			rows = append(rows, row{door, b.name, want, func(t *testing.T) ([]string, bool) {
				err, others := statusBranch(t, file.name, header+file.kind+"\n"+b.text)
				if err != nil && !strings.Contains(err.Error(), file.name) {
					t.Errorf("%v does not name %s", err, file.name)
				}
				return one(err), others
			}})
		}
	}
	rows = append(rows, row{"report", "a million machines", "more than 50000 documents", func(t *testing.T) ([]string, bool) {
		err, others := statusBranch(t, "clusters/prod/eu-2.yaml", header+"ClusterReport\n"+strings.Repeat("---\nkind: Machine\nmetadata: {name: a}\n", 400_000))
		return one(err), others
	}}, row{"report", "machines without names", "a Machine has neither a name nor a provider id", func(t *testing.T) ([]string, bool) {
		err, others := statusBranch(t, "clusters/prod/eu-2.yaml", header+"ClusterReport\n"+strings.Repeat("---\nkind: Machine\n", 40_000))
		return one(err), others
	}})
	return rows
}

// ofOthers are the rows of what else is read.
func ofOthers() []row {
	var rows []row
	add := func(door, name, want string, try func(t *testing.T) ([]string, bool)) {
		rows = append(rows, row{door, name, want, try})
	}
	for _, b := range bombs() {
		add("escrow", b.name, b.want, func(t *testing.T) ([]string, bool) { return one(escrowIndex(t, "version: 1\n"+b.text)), true })
		add("chart index", b.name, b.want, func(t *testing.T) ([]string, bool) {
			err, others := chartRepository(t, "apiVersion: v1\n"+b.text, nil)
			return one(err), others
		})
		add("entry of a chart index", b.name, b.want, func(t *testing.T) ([]string, bool) {
			err, others := chartRepository(t, "entries:\n  note:\n  - version: 1.0.0\n"+indented(b.text, "    "), nil)
			return one(err), others
		})
		add("values of a chart", b.name, b.want, func(t *testing.T) ([]string, bool) {
			err, others := chartRepository(t, goodIndex, pack(t, map[string]string{"Chart.yaml": goodChart, "values.yaml": b.text}))
			return one(err), others
		})
		add("kubeconfig", b.name, "it is not a kubeconfig in YAML", func(*testing.T) ([]string, bool) { return one(kubeconfig(b.text)), true })
		add("clouds.yaml", b.name, "is not YAML of the form", func(*testing.T) ([]string, bool) { return one(credentials(b.text)), true })
	}
	add("values of a chart", "in a chart that is packed in it", bombs()[0].want, func(t *testing.T) ([]string, bool) {
		inner := pack(t, map[string]string{"Chart.yaml": goodChart, "values.yaml": bombs()[0].text})
		err, others := chartRepository(t, goodIndex, pack(t, map[string]string{"Chart.yaml": goodChart, "charts/note.tgz": string(inner)}))
		return one(err), others
	})
	// What is within the limits is parsed, at a cost that is bounded, too.
	lists := func(n int) string { return "a: [" + strings.Repeat("[],", n) + "]\n" }
	add("escrow", "as much as is parsed", `unknown field "a"`, func(t *testing.T) ([]string, bool) {
		return one(escrowIndex(t, "version: 1\n"+lists(390_000))), true
	})
	add("chart index", "as much as is parsed", "has none of that name", func(t *testing.T) ([]string, bool) {
		err, others := chartRepository(t, lists(290_000), nil)
		return one(err), others
	})
	add("values of a chart", "as much as is parsed", "chart other 1.0.0 in its place", func(t *testing.T) ([]string, bool) {
		chart := pack(t, map[string]string{"Chart.yaml": strings.Replace(goodChart, "note", "other", 1), "values.yaml": lists(190_000)})
		err, others := chartRepository(t, goodIndex, chart)
		return one(err), others
	})
	for name, c := range map[string]struct{ line, want string }{
		"9 KB":                      {`claim {"id":"` + strings.Repeat("a", 9000) + `"}`, "not Fairlead's"},
		"4,000 brackets":            {"claim " + strings.Repeat("[", 4000), "not Fairlead's"},
		"no JSON":                   {"claim {", "not Fairlead's"},
		"a tag with control codes":  {`claim {"id":"a","tags":{"fairlead.dev/fleet":"f","fairlead.dev/cluster":"a/b","x":"\u001b[2J"}}`, "is no text of one line"},
		"an id that is a path":      {`claim {"id":"../../x","tags":{"fairlead.dev/fleet":"f","fairlead.dev/cluster":"a/b"}}`, "its id"},
		"a fleet of two lines":      {`claim {"id":"a","tags":{"fairlead.dev/fleet":"f\ng","fairlead.dev/cluster":"a/b"}}`, "not Fairlead's"},
		"a million lines of a note": {strings.Repeat("note {\n", 1_000_000) + "claim {", "not Fairlead's"},
		"an answer that ends early": {"end\nclaim {}", "not Fairlead's"},
	} {
		add("host", name, c.want, func(*testing.T) ([]string, bool) {
			err, others := hostSays(c.line)
			return one(err), others
		})
	}
	for name, a := range artifacts(0) {
		add("artifact", name, a.want, func(t *testing.T) ([]string, bool) {
			err, others := artifactOf(t, name)
			return one(err), others
		})
	}
	for name, c := range map[string]struct {
		body, want string
		genuine    bool
	}{
		"brackets without end":  {strings.Repeat("[", 2<<20), "the payload cannot be read", true},
		"objects without end":   {strings.Repeat(`{"a":`, 500_000), "the payload cannot be read", true},
		"a million empty lists": {"[" + strings.Repeat("[],", 1_000_000) + "1]", "the payload cannot be read", true},
		"a number as the ref":   {`{"ref":1e999999999}`, "the payload cannot be read", true},
		"a ref that is a list":  {`{"ref":[` + strings.Repeat(`"x",`, 500_000) + `"x"]}`, "the payload cannot be read", true},
		"nothing":               {"", "the payload cannot be read", true},
		"YAML":                  {"ref: refs/heads/main", "the payload cannot be read", true},
		"4 MiB":                 {strings.Repeat(" ", 4<<20), "larger than", true},
		"no signature":          {strings.Repeat("[", 2<<20), "the signature is wrong or missing", false},
	} {
		add("webhook", name, c.want, func(t *testing.T) ([]string, bool) {
			err, others := call(t, c.body, c.genuine)
			return one(err), others
		})
	}
	return rows
}

// leastRows are how many rows each door has at least.
func leastRows() map[string]int {
	return map[string]int{
		"manifest": 10, "manifest of a pinned source": 10, "kustomization of a pinned source": 10, "kustomization": 10, "patch": 10, "inline patch": 8, "values": 10, "transformer configuration": 10, "sops": 10,
		"addon": 8, "addon of a generator": 9, "addon in a Secret": 8, "fleet.yaml": 10,
		"report": 12, "report of the fleet": 10, "owner": 11, "request": 11, "scale": 11,
		"escrow": 11, "chart index": 11, "entry of a chart index": 10, "values of a chart": 12, "kubeconfig": 10, "clouds.yaml": 10,
		"host": 8, "webhook": 9, "tree": 40, "pack": 40, "artifact": 14,
	}
}

// elsewhere are the tables of the doors that are not read by a parser of text, and what
// else only a package itself can throw at its door.
func elsewhere() map[string]string {
	return map[string]string{
		"TestHostileContent": "sources/git", "TestDeltas": "sources/git", "TestTruncatedPack": "sources/git", "TestManyRefs": "sources/git",
		"TestOnlyContentRefuses": "sources/oci", "TestSignatures": "sources/oci", "TestBadEntries": "sources/oci",
		"TestHostile": "render", "TestHostileMemory": "render",
		"TestHugeBody": "agent/inputs/webhook", "TestSlowBodies": "agent/inputs/webhook", "TestStorm": "agent/inputs/webhook",
	}
}

// TestHostile: each row gives one clear problem, takes less than 256 MiB, and all else
// goes on. The short form tries every fourth row of each door.
func TestHostile(t *testing.T) {
	count := make(map[string]int)
	var costs []cost
	every := short.Number(t, 4, 1)
	rows := slices.Concat(ofFleet(), ofStatus(), ofOthers(), ofTrees(), ofPacks())
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	for _, r := range rows {
		count[r.door]++
		if count[r.door]%every != 0 {
			continue
		}
		t.Run(r.door+"/"+r.name, func(t *testing.T) {
			var problems []string
			var others bool
			c := within(t, func() { problems, others = r.try(t) })
			costs = append(costs, c)
			t.Logf("%d MiB, %.1f s of processors", c.memory>>20, c.cpu.Seconds())
			if len(problems) != 1 || !strings.Contains(problems[0], r.want) {
				t.Fatalf("got %d problems, want one with %q: %.600q", len(problems), r.want, problems)
			}
			if p := problems[0]; len(p) > 1200 || strings.ContainsFunc(p, unicode.IsControl) {
				t.Errorf("the problem is not a line that people read: %.1500q", p)
			}
			if !others {
				t.Error("something else does not go on")
			}
		})
	}
	tell(t, costs)
	for _, door := range slices.Sorted(maps.Keys(leastRows())) {
		if least := leastRows()[door]; count[door] < least {
			t.Errorf("the door %q has %d rows, want %d at least", door, count[door], least)
		}
		delete(count, door)
	}
	if len(count) > 0 {
		t.Errorf("doors without a number in leastRows: %v", count)
	}
}

// TestElsewhere: the tables that are elsewhere are there.
func TestElsewhere(t *testing.T) {
	for test, dir := range elsewhere() {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(files, func(f string) bool {
			b, err := os.ReadFile(f)
			return err == nil && strings.Contains(string(b), fmt.Sprintf("\nfunc %s(t *testing.T)", test))
		}) {
			t.Errorf("%s has no %s", dir, test)
		}
	}
}
