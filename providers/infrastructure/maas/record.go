package maas

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// annotation is the key of the annotation that has the tags of a machine, as JSON. MAAS accepts no key with a
// slash, so that the tags are not annotations themselves.
const annotation = "fairlead"

// Tags of machines beside the ownership tags.
const (
	tagCreated    = "fairlead.dev/created"        // when the host was claimed
	tagZone       = "fairlead.dev/failure-domain" // the zone of the host then
	tagErase      = "fairlead.dev/erase"          // an api.Erasure
	tagProviderID = "fairlead.dev/provider-id"    // of a machine that was adopted
)

// idPrefix is the beginning of provider ids. The zone and the system id follow.
const idPrefix = "maas:///"

// zoneHere stands for the zone of the host in user data.
const zoneHere = "zone-of-this-host"

// agentOf returns the agent name of a machine. It has no meaning in itself: MAAS lists machines by it.
func agentOf(tags map[string]string) string {
	sum := sha256.Sum256([]byte(tags[fleet.TagFleet] + "\n" + tags[fleet.TagCluster] + "\n" + tags[fleet.TagMachine]))
	return hex.EncodeToString(sum[:])
}

// textOf returns tags as an annotation and a comment have them.
func textOf(tags map[string]string) string {
	text, _ := json.Marshal(tags) // texts can always be written
	return string(text)
}

// tagsIn returns the tags in an annotation, or in a comment with words of MAAS around it; nil: there are none.
func tagsIn(text string) map[string]string {
	begin, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if begin < 0 || end < begin {
		return nil
	}
	var tags map[string]string
	if json.Unmarshal([]byte(text[begin:end+1]), &tags) != nil {
		return nil
	}
	return tags
}

// tagsOf returns the tags that a machine has in its annotation; nil: there are none.
func tagsOf(m *region.Machine) map[string]string { return tagsIn(m.Annotations[annotation]) }

// A life is one machine from its claim to its release. Names and hosts are used again.
type life struct{ agent, created string }

func lifeOf(tags map[string]string) life { return life{agentOf(tags), tags[tagCreated]} }

// createdOf returns when the machine with tags was claimed.
func createdOf(tags map[string]string) time.Time {
	at, _ := time.Parse(time.RFC3339, tags[tagCreated])
	return at
}

// isAdopted reports whether another controller made the machine with tags.
func isAdopted(tags map[string]string) bool {
	k, err := fleet.ParseKey(tags[fleet.TagCluster])
	return err == nil && tags[fleet.TagOperation] == string(providers.AdoptionID(k))
}

// providerIDOf returns the provider id of the machine with tags.
func providerIDOf(systemID string, tags map[string]string) fleet.ProviderID {
	if theirs := tags[tagProviderID]; theirs != "" && isAdopted(tags) {
		return fleet.ProviderID(theirs)
	}
	return fleet.ProviderID(idPrefix + tags[tagZone] + "/" + systemID)
}

// systemIDOf returns the system id in a provider id; empty: it is none of MAAS.
func systemIDOf(id fleet.ProviderID) string {
	rest, ok := strings.CutPrefix(string(id), idPrefix)
	if !ok {
		return ""
	}
	return rest[strings.LastIndexByte(rest, '/')+1:]
}
