package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
)

// TagsKey is the key of the extra configuration that holds all ownership tags of a VM.
const TagsKey = "fairlead.dev/tags"

// The tags that this provider adds to those of package fleet.
const (
	TagFailureDomain = "fairlead.dev/failure-domain"
	// TagPowerOff is how the machine is switched off when it goes, as Git said when it was made:
	// "soft", or "trySoft 5m0s". None is hard, or it was not noted.
	TagPowerOff = "fairlead.dev/power-off"
	// TagUUIDs are the instance UUID and the UUID of the BIOS, in this order, of the VM that the
	// tags were written for, where neither follows from them: it was adopted.
	TagUUIDs = "fairlead.dev/uuids"
	// TagDisks are the UUIDs of the disks that the machine was made with, wherever their files are
	// by now, with spaces between.
	TagDisks = "fairlead.dev/disks"
	// TagDeleting is when the deletion of the machine began.
	TagDeleting = "fairlead.dev/deleting"
	// TagUserDataCleared says that the user data was taken out of the VM.
	TagUserDataCleared = "fairlead.dev/user-data-cleared"
)

// EncodeTags returns the value of TagsKey: equal tags, equal text.
func EncodeTags(tags map[string]string) string {
	text, _ := json.Marshal(tags) // strings can always be written
	return string(text)
}

// DecodeTags reads the value of TagsKey. What EncodeTags never wrote is an error, which says
// why for people.
func DecodeTags(value string) (map[string]string, error) {
	var tags map[string]string
	if err := json.Unmarshal([]byte(value), &tags); err != nil {
		return nil, fmt.Errorf("%s is not what Fairlead writes: %w", TagsKey, err)
	}
	return tags, nil
}

// withTag returns tags and one more.
func withTag(tags map[string]string, tag, value string) map[string]string {
	out := maps.Clone(tags)
	out[tag] = value
	return out
}

// deletingSince is when the deletion of the machine with these tags began; zero where it did
// not. A time that cannot be read is long ago.
func deletingSince(tags map[string]string) time.Time {
	value, ok := tags[TagDeleting]
	if !ok {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return time.Unix(0, 0)
	}
	return at
}

// The hexadecimal digits of a UUID that say which cluster it is of, and which machine.
const clusterDigits, machineDigits = 15, 15

// InstanceUUID is the UUID of the VM with these tags: one of version 8, whose first half
// follows from the cluster and whose second half from the machine and from when it was asked
// for. Tags that the machine gets later do not change it.
// Source: RFC 9562, section 5.8.
func InstanceUUID(tags map[string]string) string {
	first := clusterDigest(fleet.ID(tags[fleet.TagFleet]), tags[fleet.TagCluster])
	second := digest(machineDigits, tags[fleet.TagMachine], tags[fleet.TagOperation], tags[fleet.TagMade])
	// The version is the digit after twelve, the variant the one after another three.
	all := first[:12] + "8" + first[12:] + "8" + second
	return strings.Join([]string{all[:8], all[8:12], all[12:16], all[16:20], all[20:]}, "-")
}

// UUIDs are the two that a VM has.
type UUIDs struct{ Instance, BIOS string }

// String returns the value of TagUUIDs.
func (u UUIDs) String() string { return strings.ToLower(u.Instance + " " + u.BIOS) }

// uuidsOf returns those of the VM that tags were written for.
func uuidsOf(tags map[string]string) UUIDs {
	if instance, bios, ok := strings.Cut(tags[TagUUIDs], " "); ok {
		return UUIDs{instance, bios}
	}
	id := InstanceUUID(tags)
	return UUIDs{id, id}
}

// Adopted reports whether the machine with these tags was made by another controller.
func Adopted(tags map[string]string) bool { return tags[TagUUIDs] != "" }

// AdoptedTags returns tags, of a machine that is made from s, for the VM with these UUIDs, which
// another controller made in a failure domain; empty: in none.
func AdoptedTags(tags map[string]string, u UUIDs, s *api.VSphereMachineSpec, failureDomain string) map[string]string {
	tags = withTag(tags, TagUUIDs, u.String())
	if failureDomain != "" {
		tags[TagFailureDomain] = failureDomain
	}
	if how := RemovalOf(s).String(); how != "" {
		tags[TagPowerOff] = how
	}
	return tags
}

// OfCluster reports whether uuid is one that InstanceUUID makes for machines of c.
func OfCluster(uuid string, c *fleet.Cluster) bool { return madeFor(c)(uuid) }

// madeFor returns OfCluster of c, for many UUIDs.
func madeFor(c *fleet.Cluster) func(uuid string) bool {
	want := clusterDigest(c.Fleet, c.Key.String())
	return func(uuid string) bool { return clusterOf(uuid) == want }
}

// IsMadeUUID reports whether uuid has the form of those from InstanceUUID. vCenter's have another form.
func IsMadeUUID(uuid string) bool {
	digits := strings.ReplaceAll(uuid, "-", "")
	return len(digits) == 32 && digits[12] == '8'
}

func clusterDigest(id fleet.ID, cluster string) string {
	return digest(clusterDigits, string(id), cluster)
}

// digest returns so many hexadecimal digits that follow from parts.
func digest(digits int, parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])[:digits]
}
