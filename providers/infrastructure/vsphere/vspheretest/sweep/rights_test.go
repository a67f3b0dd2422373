package sweep_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
	"fairlead.dev/test/run/short"
)

// guide has the table of privileges.
const guide = "../../../../../docs/guides/infrastructure/vsphere.md"

// objects are the kinds of objects in the table, and which of the vCenter they are.
var objects = map[string][]string{
	"vCenter":             {"/"},
	"compute clusters":    {"/DC0/host/DC0_C0", "/DC0/host/DC0_C1"},
	"resource pools":      {"/DC0/host/DC0_C0/Resources/DC0_C0_RP1", "/DC0/host/DC0_C1/Resources/DC0_C1_RP1"},
	"datastores":          {"/DC0/datastore/LocalDS_0", "/DC0/datastore/LocalDS_1"},
	"networks":            {network},
	"templates":           {"/DC0/vm/templates"},
	"folder of the fleet": {folder},
}

// A right is a row of the table.
type right struct{ on, privilege string }

// rights reads the table.
func rights(t *testing.T) []right {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Rights\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var out []right
	for _, row := range regexp.MustCompile("(?m)^\\| ([^|`]*)\\| `([A-Za-z.]+)` \\|").FindAllStringSubmatch(section, -1) {
		if row[1] = strings.TrimSpace(row[1]); row[1] == "" && len(out) > 0 {
			row[1] = out[len(out)-1].on
		}
		if objects[row[1]] == nil {
			t.Fatalf("the guide has %s on %q, which no test knows", row[2], row[1])
		}
		out = append(out, right{row[1], row[2]})
	}
	if rows := strings.Count(section, "\n|") - 2; len(out) != rows || rows < 20 {
		t.Fatalf("%d privileges in a table of %d rows", len(out), rows)
	}
	return out
}

// grants are all rights but one.
func grants(all []right, but right) []vspheretest.Grant {
	var out []vspheretest.Grant
	for on, paths := range objects {
		var ids []string
		for _, r := range all {
			if r.on == on && r != but {
				ids = append(ids, r.privilege)
			}
		}
		for _, path := range paths {
			out = append(out, vspheretest.Grant{Path: path, Privileges: ids})
		}
	}
	return out
}

// TestRightsTable: the provider asks for the privileges of the guide, and for no others.
func TestRightsTable(t *testing.T) {
	var asked []right
	for _, r := range machine.Rights() {
		asked = append(asked, right{string(r.On), r.Privilege})
	}
	if diff := cmp.Diff(rights(t), asked, cmp.AllowUnexported(right{})); diff != "" {
		t.Errorf("guide (-) and provider (+) differ: %s", diff)
	}
}

// TestRights: the privileges of the guide are enough for the life of a cluster.
func TestRights(t *testing.T) {
	w := newWorld(t)
	w.AddUser("agent", "pw", grants(rights(t), right{})...)
	p := newPilot(t, w, w.cluster(t, "agent", "pw"))
	p.live(nil)
	for _, err := range p.errors {
		if fleet.KindOf(err) != fleet.Unavailable { // a task of the simulator that takes longer than usual is no matter of rights
			t.Errorf("with all rights of the guide: %v", err)
		}
	}
	if p.log.Len() > 0 {
		t.Errorf("it warns: %s", p.log.String())
	}
}

// TestRightsOneByOne: none of them can be missing, and an error says which one is, and of what,
// before vCenter is asked for anything that takes it.
func TestRightsOneByOne(t *testing.T) {
	all := rights(t)
	for _, missing := range short.Of(t, 6, all) {
		t.Run(missing.privilege, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.AddUser("agent", "pw", grants(all, missing)...)
			p := newPilot(t, w, w.cluster(t, "agent", "pw"))
			named := ""
			p.live(func() bool {
				for _, err := range p.errors {
					if text := err.Error(); strings.Contains(text, "the user lacks "+missing.privilege+" on ") && strings.Contains(text, "see Rights in docs/guides/infrastructure/vsphere.md") {
						named = err.Error()
					}
				}
				return named != ""
			})
			if named == "" {
				t.Errorf("without it nothing is told; errors: %v", p.errors)
			}
			for _, err := range p.errors {
				if text := err.Error(); !strings.Contains(text, missing.privilege) {
					t.Errorf("another error: %s", text)
				} else if strings.Contains(text, "NoPermission") && missing.privilege != "StorageProfile.View" { // which looks take, too
					t.Errorf("vCenter was asked, and refused: %s", text)
				}
			}
		})
	}
}
