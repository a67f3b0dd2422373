package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
)

// ID names one fleet. It is part of every ownership tag, so that two fleets
// that share a cloud project never touch each other's machines.
type ID string

// A Key names one cluster of a fleet.
type Key struct {
	Namespace string
	Name      string
}

// String returns "namespace/name".
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// LogValue implements slog.LogValuer: logs in JSON have it as people write it.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Compare orders keys by namespace, then name.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Namespace, o.Namespace), cmp.Compare(k.Name, o.Name))
}

// ParseKey reads "namespace/name", or "name" in the namespace "default".
func ParseKey(s string) (Key, error) {
	ns, name, ok := strings.Cut(s, "/")
	if !ok {
		ns, name = "default", s
	}
	if ns == "" || name == "" || strings.Contains(name, "/") {
		return Key{}, Errorf(Invalid, "parse cluster key", "%q is not NAMESPACE/NAME", s)
	}
	return Key{Namespace: ns, Name: name}, nil
}

// PoolName names a group of machines in a cluster: the name of its
// KubeadmControlPlane or MachineDeployment.
type PoolName string

// MachineName names a machine, and its Node. It is unique in its cluster.
type MachineName string

// ProviderID is what a provider and the Node of a machine call it, as in
// "openstack://<region>/<server id>".
type ProviderID string

// A MachineID tells a machine from all others that there are or were. A name is given again, and some infrastructures give
// the next machine of a host the provider id of the one before.
type MachineID struct {
	Name       MachineName // empty: whichever machine has ProviderID
	ProviderID ProviderID
}

// ID returns what tells m from other machines.
func (m *Machine) ID() MachineID { return MachineID{m.Name, m.ProviderID} }

// MarshalText returns the provider id, with the name before it if there is one.
func (id MachineID) MarshalText() ([]byte, error) {
	if id.Name == "" {
		return []byte(id.ProviderID), nil
	}
	return []byte(string(id.Name) + " " + string(id.ProviderID)), nil
}

// OperationID identifies one intended change. The same intent has the same id
// on every agent and after every restart, and so has the next machine that is given a
// name that became free.
type OperationID string

// maxNameLength is what a DNS label, and so a Node name, may have.
const maxNameLength = 63

// NewMachineName returns the name of machine index of a pool. It depends on
// nothing but its arguments, so a repeated create asks for the same machine.
// A long cluster or pool name is shortened; the hash keeps it distinct.
func NewMachineName(cluster Key, pool PoolName, template TemplateHash, index int) MachineName {
	hash := machineHash(cluster, pool, template, index)
	prefix := cluster.Name + "-" + string(pool)
	if strings.HasPrefix(string(pool), cluster.Name+"-") {
		prefix = string(pool)
	}
	prefix = strings.ReplaceAll(prefix, ".", "-")
	if room := maxNameLength - len(hash) - 1; len(prefix) > room {
		prefix = strings.TrimRight(prefix[:room], "-")
	}
	return MachineName(prefix + "-" + hash)
}

func machineHash(cluster Key, pool PoolName, template TemplateHash, index int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", cluster, pool, template, index))
	return hex.EncodeToString(sum[:4])
}

// NewOperationID returns the id of doing kind to subject in cluster.
func NewOperationID(cluster Key, kind ActionKind, subject string) OperationID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", cluster, kind, subject))
	return OperationID(hex.EncodeToString(sum[:8]))
}
