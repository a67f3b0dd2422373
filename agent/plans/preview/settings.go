package preview

import (
	"strings"

	"fairlead.dev/agent/plans/document"
	"fairlead.dev/fleet"
)

// settings returns what of fleet.yaml changes from was to is, with the fields as the file has them.
func settings(was, is *fleet.Config) []Change {
	var out []Change
	for _, d := range (differ{}).differences(*was, *is) {
		kind := endingOfSetting(d, was, is)
		d.field = fieldOfFile(d.field)
		out = append(out, Change{Change: kind, Reason: d.String()})
	}
	return out
}

// fieldOfFile returns the field of fleet.yaml that a field of fleet.Config comes from.
func fieldOfFile(field string) string {
	for _, of := range [][2]string{
		{"statusBranch", "status.branch"},
		{"statusHistory", "status.history"},
		{"waves.windows", "windows"},
		{"waves.freezes", "freezes"},
		{"waves.", "rollout."},
		{"pullRequests.planned", "pullRequests"},
	} {
		if rest, ok := strings.CutPrefix(field, of[0]); ok {
			return "spec." + of[1] + rest
		}
	}
	return "spec." + field
}

// endingOfSetting returns the kind of a difference between two fleet.yaml.
func endingOfSetting(d difference, was, is *fleet.Config) string {
	gone := d.to == "" && !d.opaque
	switch top, rest, _ := strings.Cut(d.field, "."); top {
	case "escrow":
		if rest == "recipients" && gone || len(is.Escrow.Recipients) == 0 {
			return document.ChangeSetting
		}
		return document.ShareSecrets
	case "home":
		if rest == "cluster" && is.Home.Declared() {
			return document.ShareSecrets
		}
	case "drift":
		if now := effective("", is); now != string(fleet.DriftCorrect) && (d.from == "" || d.from == string(fleet.DriftCorrect)) {
			return document.ReduceRepairs
		}
	case "prune":
		if d.to == "true" || rest == "limit" && is.Prune.Enabled && number(d.to) > number(d.from) {
			return document.EndProtection
		}
	case "waves":
		if loosens(d, rest, &was.Waves) {
			return document.LoosenRollout
		}
	case "pullRequests":
		if weakens(d, rest) {
			return document.WeakenPolicy
		}
	}
	return document.ChangeSetting
}

// loosens reports whether stages, windows and freezes may hold less back with a difference. What
// is not known to hold back as much as before counts.
func loosens(d difference, rest string, was *fleet.Waves) bool {
	field := rest[strings.LastIndexAny(rest, ".]")+1:]
	switch from, to := number(d.from), number(d.to); {
	case strings.HasPrefix(rest, "freezes"):
		return d.from != ""
	case field == "approval":
		return d.to == "false"
	case field == "soak" || field == "approvals":
		return to < from
	case field == "failures":
		return to > from
	case field == "reviewers":
		return d.to != ""
	case field == "deadline":
		return d.to == "0s" || d.from != "0s" && to > from
	case field == "atOnce" || field == "percent":
		return to == 0 || from > 0 && to > from
	case field == "" && d.from == "" && strings.HasPrefix(rest, "windows"):
		return len(was.Windows) > 0 // one more may be open where the others are closed
	case field == "" && d.from == "":
		return len(was.Stages)+len(was.Classes) > 0 // one more may take clusters from a stricter one
	}
	return true
}

// weakens reports whether plans of pull requests fail less often with a difference, or are of fewer
// pull requests, or of strangers'.
func weakens(d difference, rest string) bool {
	switch field, limit := strings.CutPrefix(rest, "fail."); {
	case rest == "forks":
		return d.to == "true"
	case rest == "planned":
		return d.to == "false"
	case rest == "refs", strings.HasPrefix(field, "groups"), strings.HasPrefix(field, "rules"):
		return d.from != ""
	case limit && (field == "machines" || field == "clusters"):
		return number(d.to) == 0 || number(d.from) > 0 && number(d.to) > number(d.from)
	case limit:
		return d.to == "false"
	}
	return false
}
