package fleet

import (
	"maps"
	"strings"
	"testing"
)

// Tags that Fairlead wrote are whole; whatever is missing from them, or says what
// it never wrote, makes a machine that is damaged, with words that name the tag.
func TestMachineFromTags(t *testing.T) {
	whole := map[string]string{
		"fairlead.dev/fleet": "f", "fairlead.dev/cluster": "prod/eu-1",
		"fairlead.dev/machine": "eu-1-md-0-9c1f2a3b", "fairlead.dev/role": "worker", "fairlead.dev/pool": "eu-1-md-0",
		"fairlead.dev/template": "1-5d41402abc4b2a76", "fairlead.dev/version": "v1.34.1", "fairlead.dev/operation": "0011223344556677",
	}
	const (
		noName = "which is no name"
		long   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_"
	)
	for name, c := range map[string]struct {
		tag, value string // without a value, the tag is taken away
		empty      bool
		want       string
	}{
		"whole":                       {tag: "other", value: "x"},
		"no operation":                {tag: "fairlead.dev/operation"},
		"with an origin":              {tag: "fairlead.dev/made", value: "2026-11-21T12:00:00Z"},
		"of a remediation":            {tag: "fairlead.dev/remediation", value: "eu-1-cp-0,2,2026-11-21T12:00:00Z"},
		"with a trust":                {tag: "fairlead.dev/trust", value: "ca=1f0c2b9a,certificates=93b0e4d7"},
		"a name with dots":            {tag: "fairlead.dev/machine", value: "db.example.org"},
		"a pre-release":               {tag: "fairlead.dev/version", value: "v1.35.0-rc.1+x"},
		"no name":                     {tag: "fairlead.dev/machine", want: "fairlead.dev/machine is missing"},
		"an empty name":               {tag: "fairlead.dev/machine", empty: true, want: "fairlead.dev/machine is empty"},
		"a name that is none":         {tag: "fairlead.dev/machine", value: "../x", want: `fairlead.dev/machine is "../x", ` + noName},
		"a name in capitals":          {tag: "fairlead.dev/machine", value: "EU-1", want: `fairlead.dev/machine is "EU-1", ` + noName},
		"a name that is long":         {tag: "fairlead.dev/machine", value: long, want: `fairlead.dev/machine is "` + long[:64] + `…", ` + noName},
		"no role":                     {tag: "fairlead.dev/role", want: "fairlead.dev/role is missing"},
		"another role":                {tag: "fairlead.dev/role", value: "wrker", want: `fairlead.dev/role is "wrker", neither control-plane nor worker`},
		"no pool":                     {tag: "fairlead.dev/pool", want: "fairlead.dev/pool is missing"},
		"a pool that is none":         {tag: "fairlead.dev/pool", value: "a b", want: `fairlead.dev/pool is "a b", ` + noName},
		"no template":                 {tag: "fairlead.dev/template", want: "fairlead.dev/template is missing"},
		"a template without a schema": {tag: "fairlead.dev/template", value: "5d41402a", want: `fairlead.dev/template is "5d41402a", which is no hash of a template`},
		"no version":                  {tag: "fairlead.dev/version", want: "fairlead.dev/version is missing"},
		"a version that is none":      {tag: "fairlead.dev/version", value: "latest", want: `fairlead.dev/version is "latest", which is no version of Kubernetes`},
		"a damaged time":              {tag: "fairlead.dev/made", value: "today", want: `fairlead.dev/made is "today", which is no time`},
		"a damaged remediation":       {tag: "fairlead.dev/remediation", value: "a,b", want: `fairlead.dev/remediation is "a,b", which is no remediation`},
		"a damaged trust":             {tag: "fairlead.dev/trust", value: "ca", want: `fairlead.dev/trust is "ca", which is no trust`},
	} {
		t.Run(name, func(t *testing.T) {
			tags := maps.Clone(whole)
			if tags[c.tag] = c.value; c.value == "" && !c.empty {
				delete(tags, c.tag)
			}
			if got := MachineFromTags(tags).Damaged; got != c.want {
				t.Errorf("damaged: %q, want %q", got, c.want)
			}
		})
	}
	all := MachineFromTags(nil).Damaged
	for _, tag := range []string{"machine", "role", "pool", "template", "version"} {
		if !strings.Contains(all, "fairlead.dev/"+tag+" is missing") {
			t.Errorf("without any tag: %q does not name %s", all, tag)
		}
	}
}

// Tags that are whole each may contradict what Git says all the same.
func TestContradicts(t *testing.T) {
	c := &Cluster{ControlPlane: Pool{Name: "cp", Role: RoleControlPlane}, Workers: []Pool{{Name: "md", Role: RoleWorker}}}
	for _, m := range []struct {
		pool PoolName
		role Role
		want string
	}{
		{"cp", RoleControlPlane, ""},
		{"md", RoleWorker, ""},
		{"gone", RoleWorker, ""},
		{"renamed", RoleControlPlane, ""},
		{"cp", RoleWorker, `fairlead.dev/role is "worker", and pool cp is of role control-plane`},
		{"md", RoleControlPlane, `fairlead.dev/role is "control-plane", and pool md is of role worker`},
	} {
		if got := c.Contradicts(&Machine{Pool: m.pool, Role: m.role}); got != m.want {
			t.Errorf("%s in pool %s: %q, want %q", m.role, m.pool, got, m.want)
		}
	}
}
