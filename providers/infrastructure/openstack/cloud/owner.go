package cloud

import (
	"regexp"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
)

// RoleBastion is the role tag of a bastion, which is no machine of the cluster.
const RoleBastion = fleet.Role("bastion")

// Bastion returns the owner of the parts of the bastion of o's cluster. Its name ends
// in no hash, so that no machine is called so.
func Bastion(o snapshot.Owner) snapshot.Owner {
	return o.Part(fleet.MachineName(o.Cluster.Name + "-bastion"))
}

// IsBastion reports whether tags, of a server of o's cluster, are those of the bastion:
// the name says so, and the role says nothing else. A machine whose role somebody
// changed has its own name still.
func IsBastion(o snapshot.Owner, tags map[string]string) bool {
	role := fleet.Role(tags[fleet.TagRole])
	return tags[fleet.TagMachine] == string(Bastion(o).Machine) && role != fleet.RoleControlPlane && role != fleet.RoleWorker
}

// MaxDescription is how many characters Neutron and Octavia take as a
// description.
const MaxDescription = 255

// FormatOwner returns the description of a thing of Neutron or Octavia: the
// text that people gave, if any, and the mark of o. The description is the one
// field that holds an owner from the very call that makes the thing. A text that
// is longer than Room is cut.
func FormatOwner(text string, o snapshot.Owner) string {
	if runes := []rune(text); len(runes) > Room(o) {
		text = string(runes[:max(0, Room(o))])
	}
	if text != "" {
		text += " "
	}
	return text + markOf(o)
}

// Room is how many characters the text before the mark of o may have; below zero
// the mark itself does not fit.
func Room(o snapshot.Owner) int { return MaxDescription - len(markOf(o)) - len(" ") }

func markOf(o snapshot.Owner) string {
	part := ""
	if o.Machine != "" {
		part = " machine=" + string(o.Machine)
	}
	return "[fairlead.dev fleet=" + string(o.Fleet) + " cluster=" + o.Cluster.String() + part + "]"
}

var mark = regexp.MustCompile(`(?s)^(?:.* )?\[fairlead\.dev fleet=([^\s\[\]=]+) cluster=([^\s/\[\]=]+)/([^\s/\[\]=]+)(?: machine=([^\s\[\]=]+))?\]$`)

// ParseOwner returns the owner that a description ends with. Anything but the
// exact form of FormatOwner has no owner.
func ParseOwner(description string) (snapshot.Owner, bool) {
	if !strings.HasSuffix(description, "]") {
		return snapshot.Owner{}, false
	}
	m := mark.FindStringSubmatch(description)
	if m == nil {
		return snapshot.Owner{}, false
	}
	return snapshot.Owner{
		Fleet: fleet.ID(m[1]), Cluster: fleet.Key{Namespace: m[2], Name: m[3]}, Machine: fleet.MachineName(m[4]),
	}, true
}

// Metadata turns ownership tags into metadata of Nova and Cinder, whose keys
// have no "/": "fairlead.dev/fleet" is "fairlead.dev:fleet".
func Metadata(tags map[string]string) map[string]string { return replaceKeys(tags, "/", ":") }

// Tags turns metadata back into ownership tags. Pairs of others are left out.
func Tags(metadata map[string]string) map[string]string {
	ours := make(map[string]string)
	for k, v := range metadata {
		if strings.HasPrefix(k, "fairlead.dev:") {
			ours[k] = v
		}
	}
	return replaceKeys(ours, ":", "/")
}

func replaceKeys(in map[string]string, from, to string) map[string]string {
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[strings.Replace(k, from, to, 1)] = v
	}
	return out
}

// MetadataOwner returns the owner that metadata names.
func MetadataOwner(metadata map[string]string) (snapshot.Owner, bool) {
	tags := Tags(metadata)
	k, err := fleet.ParseKey(tags[fleet.TagCluster])
	if err != nil || tags[fleet.TagFleet] == "" || !strings.Contains(tags[fleet.TagCluster], "/") {
		return snapshot.Owner{}, false
	}
	return snapshot.Owner{Fleet: fleet.ID(tags[fleet.TagFleet]), Cluster: k, Machine: fleet.MachineName(tags[fleet.TagMachine])}, true
}
