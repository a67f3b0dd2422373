package fleet

import (
	"strings"
	"testing"
	"time"
)

// What tags keep of an origin comes back, and damaged tags say nothing.
func TestOriginTags(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	o := Origin{
		Made: at, Remediation: Remediation{Machine: "eu-1-cp-0", At: at.Add(-time.Hour), Retry: 3},
		Trust: NewTrust(map[string]string{"sa": "aa", "ca": "bb", "etcd": ""}),
	}
	if o.Trust != "ca=bb,sa=aa" {
		t.Errorf("trust %q", o.Trust)
	}
	if got := OriginFromTags(o.Tags()); got != o {
		t.Errorf("origin %+v, want %+v", got, o)
	}
	if got := (Origin{}).Tags(); len(got) != 0 {
		t.Errorf("tags of nothing: %v", got)
	}
	for _, damaged := range []string{"a", "a,b,c", ",1,2026-11-21T12:00:00Z", "a,-1,2026-11-21T12:00:00Z", "a,1,today"} {
		if got := OriginFromTags(map[string]string{TagRemediation: damaged, TagMade: damaged}); got != (Origin{}) {
			t.Errorf("%q: %+v", damaged, got)
		}
	}
}

// A trust lacks what it has another checksum of, or none.
func TestTrustLacks(t *testing.T) {
	for _, c := range []struct {
		have, want Trust
		lacks      string
	}{
		{"", "", ""},
		{"ca=1", "", ""},
		{"", "ca=1", "ca"},
		{"ca=1", "ca=1", ""},
		{"ca=1,sa=2", "sa=2", ""},
		{"ca=1,sa=2", "ca=1,sa=3", "sa"},
		{"ca=12", "ca=1", "ca"},
	} {
		if got := c.have.Lacks(c.want); got != c.lacks {
			t.Errorf("%q lacks %q of %q, want %q", c.have, got, c.want, c.lacks)
		}
	}
}

// Names after a pattern are names, however long it is, and tell machines apart.
func TestMachineNameAfterPattern(t *testing.T) {
	c := &Cluster{Key: Key{"prod", "eu-1"}}
	long := strings.Repeat("long-", 20)
	for _, pattern := range []string{"*", "a-*", "*-a", long + "*", "*-" + long, long + "*" + long + "*", "a.*.b", "-*-"} {
		p := &Pool{Name: "md", Template: "1-abc", NamePattern: pattern}
		seen := map[MachineName]bool{}
		for i := range 20 {
			name := c.MachineName(p, i)
			hash := machineHash(c.Key, p.Name, p.Template, i)
			if len(name) > 63 || strings.Trim(string(name), "-") != string(name) || !strings.Contains(string(name), hash) || strings.Contains(string(name), ".") || seen[name] {
				t.Errorf("pattern %q: name %q", pattern, name)
			}
			seen[name] = true
		}
	}
	p := &Pool{Name: "md", Template: "1-abc"}
	if c.MachineName(p, 3) != NewMachineName(c.Key, "md", "1-abc", 3) {
		t.Error("without a pattern the name is another")
	}
}
