package fleet

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// A RequestKind is what a person may ask for by hand.
type RequestKind string

// The kinds of requests. Each has a declared form in the manifests as well, to which
// a request is translated.
const (
	RequestSuspend   RequestKind = "suspend"   // change nothing: SuspendAnnotation
	RequestReconcile RequestKind = "reconcile" // look now
	RequestReplace   RequestKind = "replace"   // a machine, as if its template had changed: ReplaceAnnotation
	RequestRemediate RequestKind = "remediate" // a machine, as if a health check had found it unhealthy: RemediateAnnotation
	RequestRotate    RequestKind = "rotate"    // renew certificates: RotateAnnotation
	RequestRelease   RequestKind = "release"   // what waits for its turn: ReleaseAnnotation
	RequestAbandon   RequestKind = "abandon"   // forget the cluster, delete nothing: DeleteAnnotation
)

// Annotations for requests, on objects in Git.
const (
	// SuspendAnnotation on a Cluster keeps it unchanged until the time that it
	// holds, RFC 3339, or permanently if it is empty.
	SuspendAnnotation = "fairlead.dev/suspend-until"
	// SuspendReasonAnnotation says why, for people.
	SuspendReasonAnnotation = "fairlead.dev/suspend-reason"
	// ReplaceAnnotation on a KubeadmControlPlane or MachineDeployment names
	// machines to replace, by provider id, with commas between them. Names of
	// machines are used again, provider ids never.
	ReplaceAnnotation = "fairlead.dev/replace"
	// RemediateAnnotation is like it, for machines that are known to be unhealthy.
	RemediateAnnotation = "fairlead.dev/remediate"
	// Abandon is the value of DeleteAnnotation that forgets a cluster and leaves
	// all that it is made of.
	Abandon = "abandon"
)

// A Suspension keeps a cluster unchanged.
type Suspension struct {
	Until  time.Time // zero: until it is taken back
	Reason string
}

// Over reports whether the suspension has ended at now.
func (s *Suspension) Over(now time.Time) bool { return !s.Until.IsZero() && !now.Before(s.Until) }

// A Request is a file on the status branch that a person wrote, and the
// answer that the agent gave. Anyone with push access to the branch may make
// requests.
type Request struct {
	Kind       RequestKind
	Cluster    Key
	Machine    MachineName // replace, remediate
	ProviderID ProviderID  // of that machine: another one may bear its name later
	What       Rotation    // rotate
	Stage      string      // release, of a stage instead of a cluster
	Release    ReleaseWay  // release
	Of         string      // release: digest of what waits; empty: whatever does
	Until      time.Time   // suspend; zero: until it is taken back
	Reason     string      // why, for people
	By         string      // "Name <mail>"
	At         time.Time   // when it was asked for
	Signature  string      // of what is asked for, in armour; empty: none
	Distrusted string      // why no key that counts signed it; empty: one did, or no keys are required
	Signer     string      // whose key signed it, as the trusted keys name them; empty: no keys are required, or it is distrusted
	Names      []string    // of the person whose key signed it, as Person has them; empty: no keys are required, or it is distrusted
	Reviewers  []string    // release (approve): accounts whose reviews it stands for; only the agent names them
	Unreadable bool        // its file cannot be read, and has the name of a suspension
	Answer     Answer
}

// A RequestState says what became of a request. Empty: not answered yet.
type RequestState string

// The states of a request.
const (
	RequestAccepted RequestState = "Accepted" // it is being done, or stands
	RequestRefused  RequestState = "Refused"
	RequestDone     RequestState = "Done"
)

// An Answer is what an agent says to a request.
type Answer struct {
	State   RequestState
	Message string
	At      time.Time // of the state
}

// Open reports whether the request still wants something.
func (r Request) Open() bool {
	return r.Answer.State == "" || r.Answer.State == RequestAccepted
}

// InEffect reports whether the request shapes the cluster's target. A rotation stays in effect: a
// value that went again would be another request.
func (r Request) InEffect() bool {
	if r.Distrusted != "" {
		return false
	}
	return r.Answer.State == RequestAccepted || r.Kind == RequestRotate && r.Answer.State == RequestDone
}

// Identical reports whether o is the same asking, whatever was answered.
func (r Request) Identical(o Request) bool {
	return r.SameSubject(o) && r.At.Equal(o.At) && r.By == o.By && r.ProviderID == o.ProviderID && r.Until.Equal(o.Until) && r.Reason == o.Reason && r.Of == o.Of &&
		slices.Equal(r.Reviewers, o.Reviewers)
}

// SameSubject reports whether r and o ask for the same thing: there is one request for
// it at a time.
func (r Request) SameSubject(o Request) bool {
	return r.Kind == o.Kind && r.Cluster == o.Cluster && r.Machine == o.Machine && r.What == o.What && r.Stage == o.Stage && r.Release == o.Release
}

// Compare orders requests by cluster, kind and machine; those of stages come first.
func (r Request) Compare(o Request) int {
	return cmp.Or(r.Cluster.Compare(o.Cluster), cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Machine, o.Machine), cmp.Compare(r.What, o.What),
		cmp.Compare(r.Stage, o.Stage), cmp.Compare(r.Release, o.Release))
}

// String returns what is asked for: "replace prod/eu-1-md-0-3f5fbe45".
func (r Request) String() string {
	if r.Machine != "" {
		return string(r.Kind) + " machine " + r.Cluster.Namespace + "/" + string(r.Machine)
	}
	if r.What != "" {
		return string(r.Kind) + " " + string(r.What) + " of cluster " + r.Cluster.String()
	}
	if r.Release != "" {
		of := "cluster " + r.Cluster.String()
		if r.Stage != "" {
			of = "stage " + r.Stage
		}
		return string(r.Kind) + " (" + string(r.Release) + ") " + of
	}
	return string(r.Kind) + " cluster " + r.Cluster.String()
}

// Why returns the reason and who asked, for people.
func (r Request) Why() string {
	text := "asked for by " + r.By
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}

// MachineID returns the machine that r is about.
func (r *Request) MachineID() MachineID { return MachineID{r.Machine, r.ProviderID} }

// WithRequests returns c with those of list that stand and concern it. Of a machine
// name and id tell which it is: it is put to every pool, and means one.
func (c *Cluster) WithRequests(list []Request) *Cluster {
	out := *c
	changed := false
	for _, r := range list {
		if r.Cluster != c.Key || !r.InEffect() {
			continue
		}
		if !changed {
			out.Workers, changed = slices.Clone(c.Workers), true
		}
		switch r.Kind {
		case RequestSuspend:
			out.Suspension = &Suspension{Until: r.Until, Reason: r.Why()}
		case RequestAbandon:
			out.Abandon = true
		case RequestRotate: // beside what Git asks for: a new value of either is a new request
			out.Rotate = adding(out.Rotate, r.What, out.Rotate[r.What]+"@"+r.At.UTC().Format(time.RFC3339))
		case RequestReplace:
			if c.Hosted == nil {
				out.ControlPlane.Replace = adding(out.ControlPlane.Replace, r.MachineID(), r.Why())
			}
			for i := range out.Workers {
				out.Workers[i].Replace = adding(out.Workers[i].Replace, r.MachineID(), r.Why())
			}
		case RequestRemediate:
			if c.Hosted == nil {
				out.ControlPlane.Remediate = adding(out.ControlPlane.Remediate, r.MachineID(), r.Why())
			}
			for i := range out.Workers {
				out.Workers[i].Remediate = adding(out.Workers[i].Remediate, r.MachineID(), r.Why())
			}
		}
	}
	if !changed {
		return c
	}
	return &out
}

// adding returns a copy of m with v at k.
func adding[K comparable](m map[K]string, k K, v string) map[K]string {
	out := maps.Clone(m)
	if out == nil {
		out = make(map[K]string)
	}
	out[k] = v
	return out
}
