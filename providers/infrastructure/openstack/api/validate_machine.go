package api

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// machine checks the spec of a machine and fills in its defaults.
func (v *validator) machine(at *field.Path, s *OpenStackMachineSpec) {
	v.flavor(at.Child("flavor"), &s.Flavor)
	v.image(at.Child("image"), &s.Image)
	v.Text(at.Child("sshKeyName"), s.SSHKeyName, maxName)
	v.securityGroups(at.Child("securityGroups"), s.SecurityGroups)
	v.serverGroup(at.Child("serverGroup"), s.ServerGroup)
	s.Tags = v.serverTags(at.Child("tags"), s.Tags)
	if s.IdentityRef != nil {
		v.identity(at.Child("identityRef"), s.IdentityRef)
	}
	v.ports(at.Child("ports"), s)
	v.metadata(at.Child("serverMetadata"), s.ServerMetadata)
	v.disks(at, s)
	v.hints(at.Child("schedulerHintAdditionalProperties"), s)
	v.floatingIPPool(at.Child("floatingIPPoolRef"), s)
}

var metadataKey = regexp.MustCompile(`^[a-zA-Z0-9-_:. ]+$`)

// metadata checks the metadata of a server and sorts it: its order says nothing.
// Source: Compute API reference, "Create server".
func (v *validator) metadata(at *field.Path, list []ServerMetadata) {
	for i, m := range list {
		key, value := at.Index(i).Child("key"), at.Index(i).Child("value")
		v.Text(key, m.Key, maxName)
		v.Text(value, m.Value, maxName)
		v.Required(key, m.Key, "")
		v.Required(value, m.Value, "")
		if m.Key != "" && !metadataKey.MatchString(m.Key) {
			v.Invalid(key, m.Key, `Nova takes letters, digits, spaces and any of "-_:."`)
		}
		v.Forbidden(key, strings.HasPrefix(m.Key, "fairlead.dev:"), "keys that begin with fairlead.dev: say whose the server is")
	}
	objects.Unique(v, at, list, "key", func(m ServerMetadata) string { return m.Key })
	slices.SortFunc(list, func(a, b ServerMetadata) int { return cmp.Compare(a.Key, b.Key) })
}

// disks checks root volume and additional block devices.
func (v *validator) disks(at *field.Path, s *OpenStackMachineSpec) {
	if r := s.RootVolume; r != nil {
		at := at.Child("rootVolume")
		v.size(at.Child("sizeGiB"), r.SizeGiB)
		v.volume(at, &r.BlockDeviceVolume)
	}
	at = at.Child("additionalBlockDevices")
	for i := range s.AdditionalBlockDevices {
		d, at := &s.AdditionalBlockDevices[i], at.Index(i)
		name := at.Child("name")
		v.Required(name, d.Name, "")
		v.Text(name, d.Name, maxServerTag)
		v.Forbidden(name, d.Name == "root", "root is the volume that a server boots from")
		if strings.ContainsAny(d.Name, ",/") {
			v.Invalid(name, d.Name, `must not have a comma or a "/": it is a tag of the device`)
		}
		v.size(at.Child("sizeGiB"), d.SizeGiB)
		storage := at.Child("storage")
		objects.Enum(v, storage.Child("type"), d.Storage.Type, LocalBlockDevice, VolumeBlockDevice)
		if d.Storage.Volume != nil {
			v.Forbidden(storage.Child("volume"), d.Storage.Type == LocalBlockDevice, "a local disk is no volume")
			v.volume(storage.Child("volume"), d.Storage.Volume)
		}
	}
	objects.Unique(v, at, s.AdditionalBlockDevices, "name", func(d AdditionalBlockDevice) string { return d.Name })
}

func (v *validator) size(at *field.Path, gib int32) {
	if gib < 1 {
		v.Invalid(at, gib, "must be at least 1")
	}
}

// volume checks what a volume is made with and fills in where its availability
// zone comes from.
func (v *validator) volume(at *field.Path, b *BlockDeviceVolume) {
	v.Text(at.Child("type"), b.Type, maxName)
	z := b.AvailabilityZone
	if z == nil {
		return
	}
	at = at.Child("availabilityZone")
	z.From = cmp.Or(z.From, VolumeAZFromName)
	objects.Enum(v, at.Child("from"), z.From, VolumeAZFromName, VolumeAZFromMachine)
	switch {
	case z.Name == nil:
		if z.From == VolumeAZFromName {
			v.Add(field.Required(at.Child("name"), "or from: Machine, for the zone of the machine"))
		}
	case z.From == VolumeAZFromMachine:
		v.Forbidden(at.Child("name"), true, "the zone is that of the machine")
	case *z.Name == "" || strings.Contains(string(*z.Name), " "):
		v.Invalid(at.Child("name"), *z.Name, "must not be empty or have spaces")
	}
}

// hints checks hints for the scheduler and sorts them: their order says nothing.
func (v *validator) hints(at *field.Path, s *OpenStackMachineSpec) {
	list := s.SchedulerHintAdditionalProperties
	for i, h := range list {
		at := at.Index(i)
		v.Required(at.Child("name"), h.Name, "")
		v.Forbidden(at.Child("name"), h.Name == "group" && s.ServerGroup != nil, "the hint is given by serverGroup")
		at = at.Child("value")
		objects.Enum(v, at.Child("type"), h.Value.Type, SchedulerHintTypeBool, SchedulerHintTypeString, SchedulerHintTypeNumber)
		for _, f := range []struct {
			typ  SchedulerHintValueType
			name string
			set  bool
		}{
			{SchedulerHintTypeBool, "bool", h.Value.Bool != nil},
			{SchedulerHintTypeNumber, "number", h.Value.Number != nil},
			{SchedulerHintTypeString, "string", h.Value.String != nil},
		} {
			if f.typ == h.Value.Type && !f.set {
				v.Add(field.Required(at.Child(f.name), "the type is "+string(f.typ)))
			}
			v.Forbidden(at.Child(f.name), f.typ != h.Value.Type && f.set, "the type is "+string(h.Value.Type))
		}
		if t := h.Value.String; t != nil {
			v.Required(at.Child("string"), *t, "")
			v.Text(at.Child("string"), *t, maxName)
		}
	}
	objects.Unique(v, at, list, "name", func(h SchedulerHintAdditionalProperty) string { return h.Name })
	slices.SortFunc(list, func(a, b SchedulerHintAdditionalProperty) int { return cmp.Compare(a.Name, b.Name) })
}

// floatingIPPool checks the reference to a pool and fills in its group.
func (v *validator) floatingIPPool(at *field.Path, s *OpenStackMachineSpec) {
	r := s.FloatingIPPoolRef
	if r == nil {
		return
	}
	if isEmpty(r.APIGroup) {
		g := group
		r.APIGroup = &g
	}
	objects.Enum(v, at.Child("apiGroup"), *r.APIGroup, group)
	objects.Enum(v, at.Child("kind"), r.Kind, "OpenStackFloatingIPPool")
	v.Object(at.Child("name"), r.Name, "the name of an OpenStackFloatingIPPool")
}
