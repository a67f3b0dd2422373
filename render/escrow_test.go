package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

const (
	recipientA = "age1psq6mpu3n2pcmht3nhdt9n3gd5s9pulgwzcgrjjpdr6ue5caggpq5dhs8y"
	recipientB = "age1h8mtg3ms9z222lczz70z0kyxnaut8vg76vua5nuwz90sqppxry5senyyvu"
)

func TestEscrowConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		in     *EscrowManifest
		want   fleet.Escrow
		fail   string // field and message
	}{
		"none":           {reason: "no escrow is kept unasked"},
		"default":        {"a branch of the status repository", &EscrowManifest{Recipients: []string{recipientA}}, fleet.Escrow{Recipients: []string{recipientA}, Branch: "fairlead/escrow"}, ""},
		"sorted":         {"their order means nothing", &EscrowManifest{Recipients: []string{recipientA, recipientB, recipientA}}, fleet.Escrow{Recipients: []string{recipientB, recipientA}, Branch: "fairlead/escrow"}, ""},
		"folder":         {"a mount", &EscrowManifest{Recipients: []string{recipientA}, Folder: "/mnt/escrow"}, fleet.Escrow{Recipients: []string{recipientA}, Folder: "/mnt/escrow"}, ""},
		"repository":     {"a repository of its own", &EscrowManifest{Recipients: []string{recipientA}, Repository: "https://h/x", Branch: "main"}, fleet.Escrow{Recipients: []string{recipientA}, Repository: "https://h/x", Branch: "main"}, ""},
		"nobody":         {"nobody could open it", &EscrowManifest{}, fleet.Escrow{}, "spec.escrow.recipients: there is no recipient"},
		"nonsense":       {"not a key", &EscrowManifest{Recipients: []string{"age1x"}}, fleet.Escrow{}, `spec.escrow.recipients[0]: "age1x" is no age recipient`},
		"a private key":  {"it would be shown otherwise", &EscrowManifest{Recipients: []string{"AGE-SECRET-KEY-1SECRET"}}, fleet.Escrow{}, "spec.escrow.recipients[0]: it is a private key"},
		"two places":     {"one is enough", &EscrowManifest{Recipients: []string{recipientA}, Folder: "/a", Branch: "safe"}, fleet.Escrow{}, "spec.escrow.folder: it is given beside"},
		"relative":       {"relative to what", &EscrowManifest{Recipients: []string{recipientA}, Folder: "escrow"}, fleet.Escrow{}, `spec.escrow.folder: "escrow" is not an absolute path`},
		"dots":           {"it says what it means", &EscrowManifest{Recipients: []string{recipientA}, Folder: "/a/../etc"}, fleet.Escrow{}, `spec.escrow.folder: "/a/../etc" is not`},
		"branch":         {"no branch", &EscrowManifest{Recipients: []string{recipientA}, Branch: "a..b"}, fleet.Escrow{}, `spec.escrow.branch: "a..b" cannot be`},
		"status's":       {"one writer per branch", &EscrowManifest{Recipients: []string{recipientA}, Branch: "fairlead/status"}, fleet.Escrow{}, "spec.escrow.branch: it is the status branch"},
		"another status": {"of another repository it is another one", &EscrowManifest{Recipients: []string{recipientA}, Repository: "https://h/x", Branch: "fairlead/status"}, fleet.Escrow{Recipients: []string{recipientA}, Repository: "https://h/x", Branch: "fairlead/status"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var failed []string
			got := checkedEscrow(tc.in, "fairlead/status", func(field, message, _ string) { failed = append(failed, field+": "+message) })
			if tc.fail != "" {
				if len(failed) != 1 || !strings.HasPrefix(failed[0], tc.fail) || strings.Contains(failed[0], "1SECRET") {
					t.Errorf("%s: got %q, want %q", tc.reason, failed, tc.fail)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || len(failed) > 0 {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, failed, diff)
			}
		})
	}
}
