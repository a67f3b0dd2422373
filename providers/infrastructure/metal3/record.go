package metal3

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// Tags of machines beside the ownership tags.
const (
	TagFailureDomain = "fairlead.dev/failure-domain"
	TagIndex         = "fairlead.dev/index"   // "namespace/template/number": see machine.NextIndex
	TagCreated       = "fairlead.dev/created" // when the host was claimed
)

// Tags of adopted machines: what the controller that created them recorded.
const (
	TagInstance   = "fairlead.dev/instance"    // its instance_uuid, where that is not the one that follows from the tags
	TagProviderID = "fairlead.dev/provider-id" // its provider id, where that has another name than the machine's
)

// infoKey is the key of instance_info that has the tags too: what Fairlead keeps in extra goes
// where another writes extra at the same time.
const infoKey = "fairlead"

// Keys of the record at ironic.ExtraKey.
const (
	tagsKey   = "tags"
	failedKey = "failed" // the last deployment of the host failed
)

// A record is what Fairlead wrote into a node.
type record struct {
	extra, info map[string]string // tags; nil: there are none
	failed      bool
}

func (r record) isZero() bool { return r.extra == nil && r.info == nil }

// recordOf reads what Fairlead wrote into n.
func recordOf(n *ironic.Node) record {
	kept, _ := n.Extra[ironic.ExtraKey].(map[string]any)
	failed, _ := kept[failedKey].(bool)
	return record{extra: texts(kept[tagsKey]), info: texts(n.Info[infoKey]), failed: failed}
}

// texts returns the texts of an object of JSON.
func texts(v any) map[string]string {
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	out := make(map[string]string, len(object))
	for k, v := range object {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

// instanceOf returns the instance_uuid of the machine with tags: one that was adopted may have kept
// that of its controller.
func instanceOf(tags map[string]string) string {
	if theirs := tags[TagInstance]; theirs != "" && isAdopted(tags) {
		return theirs
	}
	return ironic.InstanceID(tags[fleet.TagFleet], tags[fleet.TagCluster], tags[fleet.TagMachine])
}

// A life is one machine, from its claim to its release. Names are given again, and with them instances
// and provider ids.
type life struct {
	instance string
	made     time.Time
}

func lifeOf(tags map[string]string) life { return life{instanceOf(tags), createdOf(tags).UTC()} }

// providerIDOf returns the provider id of the machine with tags that is on host k.
func providerIDOf(k fleet.Key, tags map[string]string) fleet.ProviderID {
	if theirs := tags[TagProviderID]; theirs != "" && isAdopted(tags) {
		return fleet.ProviderID(theirs)
	}
	return machine.ProviderID(k.Namespace, k.Name, fleet.MachineName(tags[fleet.TagMachine]))
}

// isAdopted reports whether the machine with tags was taken over from another controller.
func isAdopted(tags map[string]string) bool {
	k, err := fleet.ParseKey(tags[fleet.TagCluster])
	return err == nil && tags[fleet.TagOperation] == string(providers.AdoptionID(k))
}

// ownerTags returns the tags that identify the machine on n: those from which its instance_uuid is derived. One
// whose release failed, or that is being released, has no instance_uuid: then extra
// counts. Nil: no machine is on n, or its tags cannot be determined.
func (r record) ownerTags(n *ironic.Node) map[string]string {
	switch {
	case n.Instance == "":
		return r.extra
	case r.extra != nil && instanceOf(r.extra) == n.Instance:
		return r.extra
	case r.info != nil && instanceOf(r.info) == n.Instance:
		return r.info
	case r.info != nil: // it was written with a claim: what extra has may be of long ago
		return r.info
	}
	return nil
}

// occupied reports whether a machine has n. From cleaning on the machine is gone, since the host was off.
func (r record) occupied(n *ironic.Node) bool {
	return n.Instance != "" || n.State == ironic.Deleting || n.State == ironic.Error
}

// cleans reports whether n is busy after its machine went.
func cleans(n *ironic.Node) bool {
	switch n.State {
	case ironic.Cleaning, ironic.CleanWait, ironic.CleanHold, ironic.CleanFailed:
		return n.Instance == ""
	}
	return false
}

// damage says in what the tags of n, which is a machine with identity, are not as a claim wrote
// them; empty: they are.
func (r record) damage(n *ironic.Node, identity map[string]string) string {
	if n.Instance == "" {
		return ""
	}
	var out []string
	names := slices.Collect(maps.Keys(identity))
	for name := range r.extra {
		if _, ok := identity[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, where := range []struct {
		what string
		tags map[string]string
	}{{"extra", r.extra}, {"instance_info", r.info}} {
		for _, name := range names {
			value, has := where.tags[name]
			switch {
			case !has:
				out = append(out, fmt.Sprintf("%s is missing in %s", name, where.what))
			case value != identity[name]:
				out = append(out, fmt.Sprintf("%s is %.60q in %s", name, value, where.what))
			}
		}
	}
	if instanceOf(identity) != n.Instance {
		out = append(out, "its instance_uuid is not that of its tags")
	}
	return strings.Join(out, "; ")
}

// createdOf returns when the machine of tags was made.
func createdOf(tags map[string]string) time.Time {
	at, err := time.Parse(time.RFC3339, tags[TagCreated])
	if err != nil {
		return fleet.OriginFromTags(tags).Made
	}
	return at
}

// extraOf returns what a claim keeps of tags in extra.
func extraOf(tags map[string]string, failed bool) map[string]any {
	out := map[string]any{tagsKey: tags}
	if failed {
		out[failedKey] = true
	}
	return out
}
