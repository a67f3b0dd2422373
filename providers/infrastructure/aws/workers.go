package aws

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// nodeadm is the format of user data of machines that join a control plane of EKS.
const nodeadm = "nodeadm"

// The keys of what machines have to know of it, beside the certificate of the CA.
const (
	clusterNameKey  = "cluster-name"
	serviceRangeKey = "service-range"
)

// joins reports whether instances of Fairlead can join the control plane that EKS keeps: they are in its network, and in
// its security group.
func (v *view) joins() bool {
	n := v.network(new(steps.Decision))
	k := v.cluster
	return k != nil && (k.Status == cloud.Active || k.Status == cloud.Updating) && k.VPC.Group != "" && n.vpc == k.VPC.VPC && len(n.private) > 0
}

// checkWorker says why a machine cannot join a control plane of EKS, or is for one though it is of another cluster.
func (v *view) checkWorker(spec *api.AWSMachineSpec) error {
	const op = "make a machine"
	lookup := spec.AMI != nil && spec.AMI.EKSLookupType != ""
	switch {
	case !api.IsManaged(v.c) && lookup:
		return fleet.Errorf(fleet.Invalid, op, "images of ami.eksLookupType join a control plane of EKS alone (name another image)")
	case !api.IsManaged(v.c):
		return nil
	case spec.IAMInstanceProfile == "":
		return fleet.Errorf(fleet.Invalid, op, "a machine joins a control plane of EKS by its role (name the instance profile of that role in iamInstanceProfile)")
	case len(spec.NetworkInterfaces) > 0:
		return fleet.Errorf(fleet.Invalid, op, "machines of EKS are given no network interfaces (leave networkInterfaces out)")
	case spec.Ignition != nil:
		return fleet.Errorf(fleet.Invalid, op, "nodeadm reads no Ignition (leave ignition out)")
	}
	return nil
}

// eksImage returns the parameter of SSM with the newest image of EKS for a version; empty: the image is found by its name.
// Source: EKS user guide, "Retrieve recommended Amazon Linux AMI IDs".
func (v *view) eksImage(spec *api.AWSMachineSpec, version string) string {
	lookup := ""
	if spec.AMI != nil {
		lookup = spec.AMI.EKSLookupType
	}
	for _, named := range []string{spec.ImageLookupOrg, spec.ImageLookupFormat, spec.ImageLookupBaseOS, v.spec.ImageLookupOrg, v.spec.ImageLookupFormat, v.spec.ImageLookupBaseOS} {
		if named != "" && lookup == "" {
			return ""
		}
	}
	variant := "standard"
	if lookup == api.AmazonLinux2023GPU {
		variant = "nvidia"
	}
	return api.ResolveSSM + "/aws/service/eks/optimized-ami/" + minorOf(version) + "/amazon-linux-2023/" + architecture(spec.InstanceType) + "/" + variant + "/recommended/image_id"
}

// nodeadmData returns user data that nodeadm reads from the instance itself: nothing in it is secret, and it is not
// compressed.
func nodeadmData(u providers.UserData) ([]byte, error) {
	data := u.Content.Reveal()
	if len(data) > largestUserData {
		return nil, fleet.Errorf(fleet.Invalid, "hand over the user data", "it has %d bytes and %d is the limit: nodeadm reads nothing compressed (move large files into the image, or let preNodeadmCommands fetch them)", len(data), largestUserData)
	}
	return data, nil
}

// workerEntries returns the access entries that Git names, and those for the roles of machines that Fairlead makes.
func (m *managed) workerEntries(ctx context.Context, s *changes) ([]api.AccessEntry, error) {
	var profiles []string
	for _, p := range m.c.Workers {
		if spec, err := api.ReadMachine(p.Infrastructure); err == nil && spec.IAMInstanceProfile != "" { // of another provider, or told when the machine is made
			profiles = append(profiles, spec.IAMInstanceProfile)
		}
	}
	if len(profiles) > 0 && m.want.AccessConfig.AuthenticationMode == api.AccessByConfigMap {
		s.never("accessConfig.authenticationMode", "machines of MachineDeployments join by access entries, and it is %s (set authenticationMode: %s)", api.AccessByConfigMap, api.AccessByBoth)
	}
	slices.Sort(profiles)
	out := slices.Clone(m.want.AccessEntries)
	for _, name := range slices.Compact(profiles) {
		role, err := m.place.RoleARN(ctx, "/", name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(e api.AccessEntry) bool { return e.PrincipalARN == role }) {
			out = append(out, api.AccessEntry{PrincipalARN: role, Type: api.MachineEntry})
		}
	}
	return out, nil
}

// stillUsed reports whether machines need the entry of a role that no pool in Git has: those of an older template, or of a
// node group of Fairlead or of people.
func (m *managed) stillUsed(ctx context.Context, role string) (bool, error) {
	for _, i := range m.instances {
		if _, name, ok := strings.Cut(i.Profile, ":instance-profile/"); ok && strings.HasSuffix(role, ":role/"+name[strings.LastIndexByte(name, '/')+1:]) {
			return true, nil
		}
	}
	names, err := m.place.Nodegroups(ctx, m.is.Name)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		g, err := m.place.Nodegroup(ctx, m.is.Name, name)
		switch {
		case cloud.IsNotFound(err): // it went meanwhile
		case err != nil:
			return false, err
		case g.Role == role:
			return true, nil
		}
	}
	return false, nil
}
