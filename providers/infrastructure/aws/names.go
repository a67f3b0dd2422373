package aws

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// idPrefix begins the provider ids of machines: the zone and the id of the instance follow.
// Source: Kubernetes cloud provider AWS, pkg/providers/v1/instances.go.
const idPrefix = "aws:///"

// partTag says which part of a cluster a thing is that its machines share, nameTag names it for people, portTag says where
// the API server of a machine listens, and storeTag where its user data is, if that is not Secrets Manager.
const (
	partTag  = "fairlead.dev/part"
	nameTag  = "Name"
	portTag  = "fairlead.dev/api-port"
	storeTag = "fairlead.dev/user-data"
)

// adoptedTag is on what Cluster API's provider made and the cluster adopted, with the id of the thing: a copy of it has
// another.
const adoptedTag = "fairlead.dev/adopted"

// serviceTag is the tag by which controllers of Kubernetes know what is of a cluster.
// Source: Kubernetes cloud provider AWS, pkg/providers/v1/tags.go.
func serviceTag(cluster string) string { return "kubernetes.io/cluster/" + cluster }

// digest returns 16 characters that tell clusters of all fleets apart.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:16]
}

// longestName is how long the name of a load balancer or of a target group may be.
const longestName = 32

// nameOf returns a name for something of a cluster that is alone in its account and region, and short enough for a
// load balancer.
func nameOf(o snapshot.Owner, what string) string {
	end := "-" + digest(string(o.Fleet), o.Cluster.Namespace, o.Cluster.Name)[:8] + "-" + what
	begin := strings.ReplaceAll(o.Cluster.Name, ".", "-")
	begin = begin[:min(len(begin), longestName-len(end))]
	return strings.Trim(begin, "-") + end
}

// shared returns the tags of something that the machines of v's cluster share.
func (v *view) shared(part, name string, more cloud.Tags) cloud.Tags {
	out := maps.Clone(v.spec.AdditionalTags)
	if out == nil {
		out = make(cloud.Tags)
	}
	maps.Copy(out, more)
	out[nameTag] = v.c.Key.Name + "-" + name
	out[partTag] = part
	maps.Copy(out, v.c.Tags())
	return out
}

// ofMachine returns the tags of an instance and of its parts.
func ofMachine(v *view, own cloud.Tags, name fleet.MachineName, spec cloud.Tags) cloud.Tags {
	out := maps.Clone(v.spec.AdditionalTags)
	if out == nil {
		out = make(cloud.Tags)
	}
	maps.Copy(out, spec)
	out[nameTag] = string(name)
	out[serviceTag(v.service)] = "owned"
	maps.Copy(out, own)
	return out
}
