package render

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/render/sops"
)

const defaultEscrowBranch = "fairlead/escrow"

// EscrowManifest is spec.escrow of ConfigFile.
type EscrowManifest struct {
	Recipients []string `json:"recipients"`
	Branch     string   `json:"branch,omitempty"`
	Repository string   `json:"repository,omitempty"`
	Folder     string   `json:"folder,omitempty"`
}

// checkedEscrow validates m and fills in defaults.
func checkedEscrow(m *EscrowManifest, statusBranch string, fail func(field, message, hint string)) fleet.Escrow {
	if m == nil {
		return fleet.Escrow{}
	}
	e := fleet.Escrow{Branch: m.Branch, Repository: m.Repository, Folder: m.Folder}
	for i, r := range m.Recipients {
		r = strings.TrimSpace(r)
		field := fmt.Sprintf("spec.escrow.recipients[%d]", i)
		if strings.HasPrefix(strings.ToUpper(r), "AGE-SECRET-KEY-") {
			fail(field, "it is a private key, and is in Git by now", "make another with age-keygen, and write its public key (age1…)")
			continue
		}
		if !sops.IsRecipient(r) {
			fail(field, fmt.Sprintf("%q is no age recipient", r), "write a public key that age-keygen printed (age1…)")
			continue
		}
		e.Recipients = append(e.Recipients, r)
	}
	if len(m.Recipients) == 0 {
		fail("spec.escrow.recipients", "there is no recipient", "write public keys that age-keygen printed (age1…)")
	}
	slices.Sort(e.Recipients)
	e.Recipients = slices.Compact(e.Recipients)
	switch {
	case m.Folder != "" && (m.Branch != "" || m.Repository != ""):
		fail("spec.escrow.folder", "it is given beside a branch or a repository", "name one place")
	case m.Folder != "" && (!path.IsAbs(m.Folder) || path.Clean(m.Folder) != m.Folder):
		fail("spec.escrow.folder", fmt.Sprintf("%q is not an absolute path", m.Folder), "for example /var/lib/fairlead/escrow")
	case m.Folder == "" && m.Branch == "":
		e.Branch = defaultEscrowBranch
	}
	if e.Branch != "" && (!branchName.MatchString(e.Branch) || strings.Contains(e.Branch, "..") || strings.Contains(e.Branch, "//")) {
		fail("spec.escrow.branch", fmt.Sprintf("%q cannot be the name of a branch", e.Branch), "for example "+defaultEscrowBranch)
	}
	if e.Branch == statusBranch && e.Repository == "" {
		fail("spec.escrow.branch", "it is the status branch", "for example "+defaultEscrowBranch)
	}
	return e
}
