package fleet_test

import (
	"testing"

	"fairlead.dev/fleet"
)

// members returns an etcd of what each letter stands for: h a healthy voter, s a sick
// one, l a learner, n one that never started. Their ids are 1, 2, …
func members(text string) *fleet.Etcd {
	e := &fleet.Etcd{}
	for i, r := range text {
		m := fleet.Member{ID: uint64(i + 1), Name: string(rune('a' + i)), Healthy: r == 'h' || r == 'l', Learner: r == 'l'}
		if r == 'n' {
			m.Name, m.Learner = "", true
		}
		e.Members = append(e.Members, m)
	}
	return e
}

func TestQuorumWithout(t *testing.T) {
	cases := map[string]struct {
		members string
		gone    uint64
		want    string
	}{
		"one of three":                {"hhh", 1, ""},
		"the sick one of three":       {"hsh", 2, ""},
		"a healthy one beside a sick": {"hsh", 1, "etcd would lose its quorum"},
		"one of five with one sick":   {"hhhhs", 1, ""},
		"one of five with two sick":   {"hhhss", 1, "etcd would lose its quorum"},
		"the last":                    {"h", 1, "it is the last member of etcd"},
		"beside a learner":            {"hhhl", 1, "an etcd member is still joining"},
		"the learner":                 {"hhhl", 4, ""},
		"beside one without a name":   {"hhhn", 1, "an etcd member is still joining"},
		"the one without a name":      {"hhhn", 4, ""},
		"one that is not there":       {"hhh", 9, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := members(tc.members).QuorumWithout(tc.gone); got != tc.want {
				t.Errorf("%s without %d: got %q, want %q", tc.members, tc.gone, got, tc.want)
			}
		})
	}
}

func TestBearsAnother(t *testing.T) {
	for text, want := range map[string]bool{
		"h": true, "hh": true, "hhh": true, "hhhs": true, // one more is a majority of healthy ones still
		"s": false, "hs": false, "hhs": false, "hhss": false,
		"hhl": false, "hhn": false,
	} {
		if got := members(text).BearsAnother(); got != want {
			t.Errorf("%s bears another: got %v, want %v", text, got, want)
		}
	}
}

func TestSpares(t *testing.T) {
	for text, want := range map[string]bool{
		"hhhh": true, "hhh": true, "hhhs": false, "shhh": true, "hh": false, "h": false, "lhh": true, "hhl": false,
	} {
		if got := members(text).Spares(1); got != want {
			t.Errorf("%s spares the machine of its first member: got %v, want %v", text, got, want)
		}
	}
}

func TestBearsLostJoin(t *testing.T) {
	for text, want := range map[string]bool{
		"h": false, "hh": true, "hhh": true, "hhhs": true, // without the lost one, the healthy ones are a majority
		"s": false, "hs": false, "hhs": false, "hl": false, "hhl": false, "hhn": false,
	} {
		if got := members(text).BearsLostJoin(); got != want {
			t.Errorf("%s bears a lost join: got %v, want %v", text, got, want)
		}
	}
}
