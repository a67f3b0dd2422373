package fleet

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A KindRole says what an infrastructure kind is for.
type KindRole string

// The roles of infrastructure kinds.
const (
	InfrastructureCluster         KindRole = "InfrastructureCluster"         // what spec.infrastructureRef of a Cluster names
	InfrastructureMachineTemplate KindRole = "InfrastructureMachineTemplate" // what a machine is made from
)

// A Kind describes one kind of a provider to the decoder, which knows no
// provider. Objects of it are decoded strictly.
type Kind struct {
	Provider string
	Role     KindRole
	Group    string
	Kind     string
	Versions []string // newest first

	// New returns a pointer to a zero value of version: a struct with the JSON
	// fields apiVersion, kind, metadata, spec and status.
	New func(version string) any

	// Normalise turns what New returned, decoded, into the newest version's
	// spec with defaults filled in, and says what is wrong with it. What it
	// returns is marshalled to Object.Spec: the spec of the shared
	// infrastructure, or of a template's one machine (spec.template.spec).
	Normalise func(v any) (spec any, errs field.ErrorList)

	// Refused maps the path of a field that is known and not honoured
	// ("spec.backend.docker") to the reason and the way out.
	Refused map[string]string
}
