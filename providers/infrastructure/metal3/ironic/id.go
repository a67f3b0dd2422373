package ironic

import (
	"encoding/json"

	"github.com/google/uuid"
)

// space is the name space of ids that Fairlead gives, of version 5 (RFC 9562).
var space = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("metal3.fairlead.dev")) //nolint:gochecknoglobals // a constant that Go cannot write as one

// id is the same for the same words: a repeated request is answered with what was done, and the owner
// of a node can be computed.
func id(words ...string) string {
	text, err := json.Marshal(words) // unlike joined words, it keeps them apart
	if err != nil {
		panic(err) // strings have a form in JSON
	}
	return uuid.NewSHA1(space, text).String()
}

// NodeID is the UUID of the node of a host that a fleet enrols.
func NodeID(fleet, namespace, host string) string { return id("node", fleet, namespace, host) }

// InstanceID is the instance_uuid of a node that is a machine's.
func InstanceID(fleet, cluster, machine string) string {
	return id("instance", fleet, cluster, machine)
}
