package fleet

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
)

// MachineFromTags returns the identity that tags give a machine; what the
// provider knows (id, state, addresses) is left for it to fill in.
//
// Tags are written by everything with access to the provider: by Fairlead when the
// machine is made, by people and tools at any time. What is missing, or says what
// Fairlead never wrote, is listed in Damaged and left out, and the machine is not to be
// trusted to be what the rest of its tags say.
func MachineFromTags(tags map[string]string) Machine {
	tags, damaged := parse(tags)
	return Machine{
		Name:      MachineName(tags[TagMachine]),
		Pool:      PoolName(tags[TagPool]),
		Role:      Role(tags[TagRole]),
		Template:  TemplateHash(tags[TagTemplate]),
		Version:   tags[TagVersion],
		Operation: OperationID(tags[TagOperation]),
		Origin:    OriginFromTags(tags),
		Damaged:   damaged,
	}
}

// parse returns the tags of a machine that are whole, and says which are missing or
// damaged, and how.
func parse(tags map[string]string) (whole map[string]string, damaged string) {
	var out []string
	whole = maps.Clone(tags)
	for _, t := range []struct {
		tag   string
		need  bool // a machine that lacks it is damaged
		wrong func(string) string
	}{
		{TagMachine, true, wrongName},
		{TagRole, true, wrongRole},
		{TagPool, true, wrongName},
		{TagTemplate, true, wrongTemplate},
		{TagVersion, true, wrongVersion},
		{TagMade, false, wrongTime},
		{TagRemediation, false, wrongRemediation},
		{TagTrust, false, wrongTrust},
	} {
		value, there := tags[t.tag]
		switch {
		case !there && t.need:
			out = append(out, t.tag+" is missing")
		case !there:
		case value == "":
			out = append(out, t.tag+" is empty")
		default:
			if why := t.wrong(value); why != "" {
				out = append(out, fmt.Sprintf("%s is %s, %s", t.tag, quoted(value), why))
				delete(whole, t.tag)
			}
		}
	}
	return whole, strings.Join(out, "; ")
}

// quoted returns what people need to see of a damaged tag.
func quoted(value string) string {
	const most = 64
	if len(value) > most {
		value = strings.ToValidUTF8(value[:most], "") + "…"
	}
	return strconv.Quote(value)
}

// wrongName allows what Kubernetes calls a subdomain: machines that were adopted,
// or that stand alone, have the name of an object.
func wrongName(value string) string {
	if len(validation.IsDNS1123Subdomain(value)) > 0 {
		return "which is no name"
	}
	return ""
}

func wrongRole(value string) string {
	switch Role(value) {
	case RoleControlPlane, RoleWorker:
		return ""
	}
	return fmt.Sprintf("neither %s nor %s", RoleControlPlane, RoleWorker)
}

func wrongTemplate(value string) string {
	schema, hash, _ := strings.Cut(value, "-")
	if _, err := strconv.ParseUint(schema, 10, 32); err != nil || hash == "" {
		return "which is no hash of a template"
	}
	return ""
}

func wrongVersion(value string) string {
	if _, err := version.ParseSemantic(value); err != nil {
		return "which is no version of Kubernetes"
	}
	return ""
}

func wrongTime(value string) string {
	if _, err := time.Parse(time.RFC3339, value); err != nil {
		return "which is no time"
	}
	return ""
}

func wrongRemediation(value string) string {
	if ParseRemediation(value).IsZero() {
		return "which is no remediation"
	}
	return ""
}

func wrongTrust(value string) string {
	for part := range strings.SplitSeq(value, ",") {
		if what, sum, ok := strings.Cut(part, "="); !ok || what == "" || sum == "" {
			return "which is no trust"
		}
	}
	return ""
}

// Contradicts says how what m is by its tags contradicts the definition of c;
// empty where it does not. A pool that c does not have is no contradiction: it
// may be gone, and a control plane may have been renamed.
func (c *Cluster) Contradicts(m *Machine) string {
	p, known := c.Pool(m.Pool)
	if !known || p.Role == m.Role {
		return ""
	}
	return fmt.Sprintf("%s is %s, and pool %s is of role %s", TagRole, quoted(string(m.Role)), p.Name, p.Role)
}
