package topology

import (
	"crypto/sha256"
	"fmt"

	"fairlead.dev/fleet"
)

// Lengths of names of Cluster API.
// Source: Cluster API, internal/topology/names.
const (
	maxName    = 63
	hashLength = 5
)

// letters are those of random names of Kubernetes: they make no words.
// Source: Kubernetes, apimachinery/pkg/util/rand.
const letters = "bcdfghjklmnpqrstvwxz2456789"

// hash stands where Cluster API has random letters: it says what the object is
// for, never what is in it, so that no change of a class renames anything.
func hash(cluster fleet.Key, role, pool string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", cluster, role, pool))
	out := make([]byte, hashLength)
	for i := range out {
		out[i] = letters[int(sum[i])%len(letters)]
	}
	return string(out)
}

// Templates of names where a class has none.
// Source: Cluster API, exp/topology/desiredstate.
const (
	defaultName            = "{{ .cluster.name }}-{{ .random }}"
	defaultPoolName        = "{{ .cluster.name }}-{{ .machineDeployment.topologyName }}-{{ .random }}"
	defaultMachinePoolName = "{{ .cluster.name }}-{{ .machinePool.topologyName }}-{{ .random }}"
)

// The roles of pools in names.
const (
	roleDeployment  = "machine-deployment"
	roleMachinePool = "machine-pool"
)

// name runs a naming template. pool is empty where the object is for no pool.
func (e *engine) name(template string, cluster fleet.Key, role, pool string) (string, error) {
	random := hash(cluster, role, pool)
	data := map[string]any{"cluster": map[string]any{"name": cluster.Name}, "random": random}
	switch role {
	case roleDeployment:
		data["machineDeployment"] = map[string]any{"topologyName": pool}
	case roleMachinePool:
		data["machinePool"] = map[string]any{"topologyName": pool}
	}
	t, err := e.parseName(template)
	if err != nil {
		return "", err
	}
	out, err := e.run(t, data)
	if err != nil {
		return "", err
	}
	if len(out) > maxName {
		out = out[:maxName-hashLength] + random
	}
	return out, nil
}

// simpleName returns prefix and a hash, as templates are named.
func simpleName(prefix string, cluster fleet.Key, role, pool string) string {
	if len(prefix) > maxName-hashLength {
		prefix = prefix[:maxName-hashLength]
	}
	return prefix + hash(cluster, role, pool)
}
