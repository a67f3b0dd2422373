package fleet

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Origin is what a machine carries of how it came to be: what nothing else
// remembers, and an agent that starts again has to know.
type Origin struct {
	// Made is when it was asked for, by the clock of the agent that did; zero
	// where that is not known.
	Made time.Time
	// Remediation is zero, unless the machine came in place of an unhealthy one.
	Remediation Remediation
	// Trust is what of the cluster's trust the machine was made with.
	Trust Trust
}

// A Remediation is one attempt to put a machine in place of an unhealthy one.
// Source: Cluster API, controlplane.cluster.x-k8s.io/remediation-for.
type Remediation struct {
	Machine MachineName // that was unhealthy
	At      time.Time   // when its removal began
	Retry   int         // how many attempts in a row failed before this one
}

// IsZero reports whether r is none.
func (r Remediation) IsZero() bool { return r == Remediation{} }

// String returns "machine,retry,time", which ParseRemediation reads.
func (r Remediation) String() string {
	if r.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s,%d,%s", r.Machine, r.Retry, r.At.UTC().Format(time.RFC3339))
}

// ParseRemediation reads what String wrote. A text that is damaged is none.
func ParseRemediation(s string) Remediation {
	parts := strings.Split(s, ",")
	if len(parts) != 3 {
		return Remediation{}
	}
	retry, err := strconv.Atoi(parts[1])
	at, errAt := time.Parse(time.RFC3339, parts[2])
	if err != nil || errAt != nil || retry < 0 || parts[0] == "" {
		return Remediation{}
	}
	return Remediation{Machine: MachineName(parts[0]), Retry: retry, At: at}
}

// Tags returns the tags that keep o.
func (o Origin) Tags() map[string]string {
	out := make(map[string]string, 3)
	if !o.Made.IsZero() {
		out[TagMade] = o.Made.UTC().Format(time.RFC3339)
	}
	if !o.Remediation.IsZero() {
		out[TagRemediation] = o.Remediation.String()
	}
	if o.Trust != "" {
		out[TagTrust] = string(o.Trust)
	}
	return out
}

// OriginFromTags reads what Tags wrote. A tag that is damaged counts as none here;
// MachineFromTags tells of it.
func OriginFromTags(tags map[string]string) Origin {
	made, _ := time.Parse(time.RFC3339, tags[TagMade]) // a damaged one counts as not known
	return Origin{Made: made, Remediation: ParseRemediation(tags[TagRemediation]), Trust: Trust(tags[TagTrust])}
}

// AskedAt is when m was asked for, by the clock of the agent that asked where that
// is known: to be compared with what agents' clocks wrote.
func (m *Machine) AskedAt() time.Time {
	if m.Origin.Made.IsZero() {
		return m.Created
	}
	return m.Origin.Made
}

// MadeAt is when m was asked for: by its infrastructure's clock or by the clock
// of the agent that asked, whichever is later. So a machine that an agent made
// is never older than the reason for which that agent made it.
func (m *Machine) MadeAt() time.Time {
	if m.Origin.Made.After(m.Created) {
		return m.Origin.Made
	}
	return m.Created
}
