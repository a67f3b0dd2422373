package api_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
)

func TestCredentials(t *testing.T) {
	for name, tc := range map[string]struct {
		change []string
		want   string // the Secret, or what is wrong
	}{
		"Identity":       {nil, "capv-system/vcenter"},
		"Secret":         {[]string{"kind: VSphereClusterIdentity, name: team", "kind: Secret, name: login"}, "prod/login"},
		"NotAllowed":     {[]string{"{name: prod, labels: {team: a}}", "{name: prod, labels: {team: b}}"}, "does not let in the namespace prod"},
		"NobodyAllowed":  {[]string{", allowedNamespaces: {selector: {matchLabels: {team: a}}}", ""}, "lets in no namespace"},
		"EverybodyIs":    {[]string{"{selector: {matchLabels: {team: a}}}", "{}"}, "capv-system/vcenter"},
		"IdentityIsGone": {[]string{"metadata: {name: team}", "metadata: {name: other}"}, "Git has no VSphereClusterIdentity team"},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := cluster(t, tc.change...)
			k, _, err := api.CredentialsOf(c, s)
			switch {
			case err != nil && (fleet.KindOf(err) != fleet.Unauthorized || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %s", err, tc.want)
			case err == nil && k.String() != tc.want:
				t.Errorf("got %s, want %s", k, tc.want)
			}
		})
	}
}
