// Package host is what Fairlead keeps on a host, and the scripts that look at it
// and change it. All of it is files below /var/lib/fairlead/host:
//
//	claim          who has the host; a hard link to the claim in machines/<id>
//	machines/<id>  what belongs to that claim: user data, log, how far it got
//	notes/<name>   claims of other hosts of the pool, for when those do not answer
//	last           the logs of the machine that was there before
//
// A claim is taken by one link(2), so one of any number of agents gets it, and is
// removed last, when the host is clean.
package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// A Claim says whose a host is. Git and status show nothing that is not in it.
type Claim struct {
	ID      string    `json:"id"` // of this claim alone: 16 hexadecimal digits
	Pool    string    `json:"pool,omitempty"`
	Host    string    `json:"host,omitempty"` // empty in the note of what machines share
	Domain  string    `json:"failureDomain,omitempty"`
	Created time.Time `json:"created,omitzero"` // by the agent's clock
	// APIPort is where the API server of the machine listens; 0: it is no control-plane machine,
	// or of an earlier version, which noted none.
	APIPort int32             `json:"apiPort,omitempty"`
	Tags    map[string]string `json:"tags"`
	// Releasing says, in a note, that the machine is to be removed.
	Releasing bool `json:"releasing,omitempty"`
}

// ProviderID returns the provider id of the machine: it names the claim, so that
// the next machine on the host is another one.
func (c *Claim) ProviderID() fleet.ProviderID {
	return fleet.ProviderID("hosts://" + c.Pool + "/" + c.Host + "/" + c.ID)
}

// NoteName is what a note of c is called: one for each claim, and one for what the
// machines of a cluster share.
func (c *Claim) NoteName() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", c.Tags[fleet.TagFleet], c.Tags[fleet.TagCluster], c.ID))
	return hex.EncodeToString(sum[:12])
}

// A Progress is how far the machine on a claimed host is.
type Progress string

// The steps.
const (
	Waiting     Progress = "Waiting"     // claimed; nothing runs, and nothing ran
	Running     Progress = "Running"     // the user data is being run
	Done        Progress = "Done"        // it was run, and worked
	Failed      Progress = "Failed"      // it did not work
	Interrupted Progress = "Interrupted" // the host restarted or lost the process in between
	Releasing   Progress = "Releasing"   // being cleaned
	Stalled     Progress = "Stalled"     // to be cleaned, and nothing does it right now
)

// A State is what a look at a host tells.
type State struct {
	Boot, Hostname, OS, Arch string
	CPUs                     int
	Memory                   int64 // bytes
	Addresses                []string
	CloudInit, HAProxy       bool // whether it is installed
	Notes                    []Claim
	Claimed                  bool
	Claim                    *Claim // nil where the claim is not Fairlead's, or damaged
	Progress                 Progress
	Result                   string // why it failed
	Log                      string // the last lines
	Balanced                 string // Sum of the configuration that a load balancer runs with; empty: none runs
}

// Parse reads what the script of Look wrote. What a login script of the user wrote
// before is passed over.
func Parse(out []byte) (*State, error) {
	_, text, begun := strings.Cut("\n"+string(out), "\nbegin\n")
	text, ended := strings.CutSuffix(text, "\nend\n")
	if !begun || !ended {
		return nil, fmt.Errorf("its answer is not complete")
	}
	s := new(State)
	v := make(map[string]string)
	var log []string
	for line := range strings.SplitSeq(text, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "note":
			if c := parseClaim([]byte(value)); c != nil {
				s.Notes = append(s.Notes, *c)
			}
		case "address":
			if address(value) {
				s.Addresses = append(s.Addresses, value)
			}
		case "log":
			log = append(log, value)
		case "claim":
			v[key] = value
		default:
			v[key] = said(value)
		}
	}
	s.Boot, s.Hostname, s.OS, s.Arch = v["boot"], v["hostname"], v["os"], v["arch"]
	s.CPUs, _ = strconv.Atoi(v["cpus"]) // 0 if it is not reported
	kib, _ := strconv.ParseInt(v["memory"], 10, 64)
	s.Memory = kib << 10
	s.CloudInit, s.HAProxy, s.Balanced = v["cloudinit"] != "", v["haproxy"] != "", v["balanced"]
	_, s.Claimed = v["claim"]
	if s.Claimed {
		s.Claim = parseClaim([]byte(v["claim"]))
		s.Progress, s.Result = progress(v)
		s.Log = strings.ToValidUTF8(strings.Join(log, "\n"), "?")
	}
	return s, nil
}

func progress(v map[string]string) (Progress, string) {
	busy := v["busy"] != ""
	started, result := v["started"], v["finished"]
	switch {
	case v["releasing"] != "" && busy:
		return Releasing, ""
	case v["releasing"] != "":
		return Stalled, ""
	case result == "ok":
		return Done, ""
	case result != "":
		return Failed, result
	case started == "":
		return Waiting, ""
	case busy && started == v["boot"]:
		return Running, ""
	case started != v["boot"]:
		return Interrupted, "the host restarted while the user data ran"
	}
	return Interrupted, "the user data was stopped before its end"
}
