package api

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/kindstest"
)

func TestVMName(t *testing.T) {
	for name, tc := range map[string]struct{ template, machine, want, reason string }{
		"None":     {"", "prod-eu-md-0-x7k2p", "prod-eu-md-0-x7k2p", "the name of the machine"},
		"Prefix":   {"vm-{{ .machine.name }}", "a-x7k2p", "vm-a-x7k2p", "a template"},
		"Short":    {`{{ .machine.name | trunc 9 | trimSuffix "-" }}-{{ .machine.name | trunc -5 }}`, "prod-eu-1-md-0-x7k2p", "prod-eu-1-x7k2p", "upstream's example for short names"},
		"Trimmed":  {`{{ trunc 8 .machine.name | trimSuffix "-" }}-{{ trunc -5 .machine.name }}`, "prod-eu-1-md-0-x7k2p", "prod-eu-x7k2p", "the functions take their text last"},
		"ShortOne": {`{{ trunc 99 .machine.name }}-{{ trunc -99 .machine.name }}`, "a", "a-a", "there is less than that"},
		"TooLong":  {"{{ .machine.name }}-{{ .machine.name }}", strings.Repeat("a", 40), "more than 63 characters", "Cluster API cuts it, and two may be one"},
		"Invalid":  {"{{ .machine.name }}_x", "a", "not valid", "it is the name of a Node"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := VMName(&VSphereMachineSpec{Naming: Naming{Template: tc.template}}, fleet.MachineName(tc.machine))
			if err != nil {
				if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want %s: %s", err, tc.want, tc.reason)
				}
			} else if got != tc.want {
				t.Errorf("got %s, want %s: %s", got, tc.want, tc.reason)
			}
		})
	}
}

func TestNamingChecks(t *testing.T) {
	for text, want := range map[string]string{
		"x-{{ .machine.name }}":          "",
		"x":                              "two machines of a pool would have one name",
		"{{ .machine.name | trunc 10 }}": "two machines of a pool would have one name",
		"{{ .machine.uid }}":             "cannot be filled in",
		"{{ .cluster.name }}":            "cannot be filled in",
		"{{ .machine.name ":              "cannot be read",
		"{{ upper .machine.name }}":      "cannot be read",
		"{{ range 999999999 }}{{ end }}{{ .machine }}":                  "alone",
		`{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}`: "alone",
		`{{ define "x" }}a{{ end }}`:                                    "not valid",
		"{{ if .machine.name }}a{{ end }}":                              "alone",
		"UPPER-{{ .machine.name }}":                                     "not valid",
	} {
		_, got := normalised(t, "VSphereMachine", "v1beta2", "template: t\n"+network+"naming: {template: '"+text+"'}", nil)
		kindstest.Check(t, got, want, text)
	}
}
