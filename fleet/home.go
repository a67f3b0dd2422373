package fleet

import "slices"

// What a Home has that says nothing else.
const (
	HomeNamespace = "fairlead-system"
	HomeRelease   = "fairlead"
)

// A Home says in which cluster of a fleet its agent is to live, and how. The
// zero Home leaves the agent where it is.
type Home struct {
	Cluster   Key
	Image     string // of the agent, REPOSITORY[:TAG][@DIGEST]; empty: what the chart names
	Namespace string // default HomeNamespace
	Release   string // of Helm, default HomeRelease
	// Values of the agent's chart, a JSON object that wins over what is computed;
	// empty for none.
	Values string
	// Addons are paths of manifests, or of folders of them, in the repository,
	// which are applied in their order before the agent is installed.
	Addons []string
	// Keep leaves the secrets, and an agent in a cluster, where the fleet was.
	Keep bool
}

// Declared reports whether there is to be a home at all.
func (h Home) Declared() bool { return h.Cluster != Key{} }

// Equal reports whether h and o say the same.
func (h Home) Equal(o Home) bool {
	return h.Cluster == o.Cluster && h.Image == o.Image && h.Namespace == o.Namespace && h.Release == o.Release &&
		h.Values == o.Values && h.Keep == o.Keep && slices.Equal(h.Addons, o.Addons)
}
