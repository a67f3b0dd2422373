package all_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/all"
)

// TestSettings: each provider has these settings, takes these values and refuses those, with these
// words. The reference of the command line pins what their help says.
func TestSettings(t *testing.T) {
	r, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	const (
		above   = " is not above zero"
		metal3  = " cannot be (rates and durations are above zero)"
		vcenter = " cannot be (rates and durations are above zero, insecure is true or false)"
		azure   = " cannot be (durations are above zero, managed-identity is true or false)"
		hosts   = " is no duration above zero"
	)
	wrong := func(text ...string) []string { return text }
	for provider, settings := range map[string]map[string]struct {
		good, bad []string
		refusal   string
	}{
		"openstack": {
			"tick":   {wrong("", "1ns", "2m"), wrong("0s", "-1s", "5", "soon", " "), above},
			"settle": {wrong("", "75s"), wrong("0", "-1s", "x"), above},
			"rate":   {wrong("", "0.5", "1e3", "Inf"), wrong("0", "-2", "NaN", "many", "1 "), above},
		},
		"vsphere": {
			"tick":     {wrong("", "10s"), wrong("0s", "-1s", "5", "soon"), vcenter},
			"settle":   {wrong("", "75s"), wrong("0", "-1s", "x"), vcenter},
			"rate":     {wrong("", "0.5", "20"), wrong("0", "-2", "NaN", "many"), vcenter},
			"insecure": {wrong("", "true", "false", "1", "0", "T"), wrong("yes", "2", " true"), vcenter},
		},
		"metal3": {
			"tick":   {wrong("", "10s"), wrong("0s", "-1s", "5", "soon"), metal3},
			"settle": {wrong("", "75s"), wrong("0", "-1s", "x"), metal3},
			"retry":  {wrong("", "2m"), wrong("0", "-1s", "x"), metal3},
			"rate":   {wrong("", "0.5", "20"), wrong("0", "-2", "NaN", "many"), metal3},
		},
		"maas": {
			"tick":   {wrong("", "10s"), wrong("0s", "-1s", "5", "soon"), metal3},
			"settle": {wrong("", "75s"), wrong("0", "-1s", "x"), metal3},
			"relist": {wrong("", "5m"), wrong("0", "-1s", "x"), metal3},
			"rate":   {wrong("", "0.5", "20"), wrong("0", "-2", "NaN", "many"), metal3},
		},
		"aws": {
			"tick":     {wrong("", "10s"), wrong("0s", "-1s", "5", "soon"), above},
			"settle":   {wrong("", "75s"), wrong("0", "-1s", "x"), above},
			"endpoint": {wrong("", "http://127.0.0.1:8090"), wrong("aws.example.com", "ftp://aws.example.com", "https://", ":"), " is no URL such as https://aws.example.com"},
		},
		"azure": {
			"tick":                    {wrong("", "10s"), wrong("0s", "-1s", "5", "soon"), azure},
			"settle":                  {wrong("", "75s"), wrong("0", "-1s", "x"), azure},
			"managed-identity":        {wrong("", "true", "false"), wrong("yes", " true"), azure},
			"workload-identity-token": {good: wrong("", "/var/run/secrets/azure/tokens/azure-identity-token")},
			"credential-files":        {good: wrong("", "/etc/azure")},
		},
		"docker": {
			"tick":    {wrong("", "10s"), wrong("0s", "-1s", "5", "soon"), above},
			"settle":  {wrong("", "75s"), wrong("0", "-1s", "x"), above},
			"network": {wrong("", "fleet-1.test_2"), wrong("a b", "-x", "a/b"), " is no name of a network"},
		},
		"hosts": {
			"tick":         {wrong("", "5s"), wrong("0s", "-1s", "5", "soon"), hosts},
			"settle":       {wrong("", "25s"), wrong("0", "-1s", "x"), hosts},
			"agent-socket": {good: wrong("", "/run/agent", "-1s")},
		},
		"inmemory": {
			"settle": {wrong("", "0", "1s"), wrong("-1s", "5", "soon"), " is no duration"},
			"url":    {good: wrong("", "http://127.0.0.1:8090")},
		},
	} {
		names := make(map[string]bool)
		for name, s := range settings {
			names[name] = true
			for _, value := range s.good {
				p, err := r.Open(t.Context(), provider, providers.Options{Settings: map[string]string{name: value}})
				if err != nil {
					t.Errorf("%s-%s=%q is refused: %v", provider, name, value, err)
					continue
				}
				if c := providers.AbilitiesOf(p).Closer; c != nil {
					c.Close()
				}
			}
			for _, value := range s.bad {
				_, err := r.Open(t.Context(), provider, providers.Options{Settings: map[string]string{name: value}})
				want := "cannot open infrastructure provider " + provider + ": setting " + name + `: "` + value + `"` + s.refusal
				if fleet.KindOf(err) != fleet.Invalid || err.Error() != want {
					t.Errorf("%s-%s=%q: %v, want %s", provider, name, value, err, want)
				}
			}
		}
		for _, f := range all.Factories() {
			if f.Name != provider {
				continue
			}
			got := make(map[string]bool)
			for _, s := range f.Settings {
				got[s.Name] = true
			}
			if d := cmp.Diff(names, got); d != "" {
				t.Errorf("settings of %s: %s", provider, d)
			}
		}
	}
}

var update = flag.Bool("update", false, "rewrite the tables of settings in the READMEs of providers")

// TestSettingsInREADMEs: the table of settings in the README of a provider says what the help says.
func TestSettingsInREADMEs(t *testing.T) {
	table := regexp.MustCompile(`(?m)^\| setting \| what it is \| default \|\n(\|.*\n)*`)
	for _, name := range []string{"aws", "azure", "docker", "hosts", "inmemory", "maas", "metal3", "openstack", "vsphere"} {
		file := filepath.Join("..", "infrastructure", name, "README.md")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := "| setting | what it is | default |\n|---|---|---|\n"
		for _, f := range all.Factories() {
			for _, s := range f.Settings {
				if f.Name == name {
					what, standard, _ := strings.Cut(strings.ReplaceAll(s.Usage, "`", ""), " (default ")
					want += "| `" + s.Name + "` | " + what + " | "
					if standard != "" {
						want += "`" + strings.TrimSuffix(standard, ")") + "` "
					}
					want += "|\n"
				}
			}
		}
		switch got := table.FindString(string(text)); {
		case got == want:
		case got != "" && *update:
			if err := os.WriteFile(file, []byte(strings.Replace(string(text), got, want, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("the settings in %s (rewrite them with -update): %s", file, cmp.Diff(want, got))
		}
	}
}
