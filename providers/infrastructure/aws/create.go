package aws

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// Create implements driver.Driver: what the machine boots with is stored, and an instance is asked for.
func (p machines) Create(ctx context.Context, what string, op fleet.OperationID, r providers.MachineRequest, v *view) error {
	return cloud.Wrap(what, p.create(ctx, op, r, v))
}

func (p *Provider) create(ctx context.Context, op fleet.OperationID, r providers.MachineRequest, v *view) error {
	spec, err := api.ReadMachine(r.Pool.Infrastructure)
	if err != nil {
		return err
	}
	if err := v.checkWorker(spec); err != nil {
		return err
	}
	boot, err := v.bootstrap(ctx, spec, r, op)
	if err != nil {
		return err
	}
	form, err := v.instance(ctx, spec, r, op, boot)
	if err != nil {
		return err
	}
	subnets, err := v.subnetsFor(ctx, spec, r)
	if err != nil {
		return err
	}
	o := v.owner.Part(r.Name)
	if id, ok := p.tried.Of(o); ok { // nowhere else before it is known that nothing is there
		if i := slices.IndexFunc(subnets, func(s cloud.Subnet) bool { return s.ID == id }); i >= 0 {
			subnets = append([]cloud.Subnet{subnets[i]}, slices.Delete(slices.Clone(subnets), i, i+1)...)
		}
	}
	defer v.place.Changed(o)
	if err := v.plug(ctx, spec, form, r); err != nil {
		return err
	}
	if len(boot.stored) > 0 {
		tags := cloud.Tags{fleet.TagMachine: string(r.Name), fleet.TagPool: string(r.Pool.Name)}
		for k, value := range v.c.Tags() {
			tags[k] = value
		}
		token := digest(boot.secret, string(boot.stored)) + digest(string(boot.stored))
		if err := v.place.Keep(ctx, boot.store, boot.secret, token, boot.stored, tags); err != nil {
			return err
		}
	}
	err = p.run(ctx, o, v, spec, r, op, form, subnets)
	if cloud.Is(err, "IdempotentParameterMismatch") {
		return fleet.Errorf(fleet.Unavailable, "request the instance", "an earlier request with other content may have made it, and it does not show yet: %w", err)
	}
	if err != nil && fleet.Refused(cloud.Wrap("", err)) && len(boot.stored) > 0 {
		if left := v.dropStored(ctx, boot); left != nil {
			err = fleet.JoinErrors(cloud.Wrap("", err), left)
		}
	}
	return err
}

// run asks for the instance in the first of subnets, and where that is refused for lack of capacity or of the
// type, in the next. After a request without an answer it goes nowhere else.
func (p *Provider) run(ctx context.Context, o snapshot.Owner, v *view, spec *api.AWSMachineSpec, r providers.MachineRequest, op fleet.OperationID, form url.Values, subnets []cloud.Subnet) error {
	var refused error
	var tried []string
	for _, s := range subnets {
		p.o.Log.InfoContext(ctx, "requesting an instance", "machine", string(r.Name), "type", spec.InstanceType, "zone", s.Zone, "subnet", s.ID)
		_, err := v.runIn(ctx, cloud.Join(form, v.interfaceIn(spec, form, s)), op, r.Origin, s.ID, v.formerOf(r.Name))
		kind := cloud.Kind(err)
		switch {
		case err == nil:
			p.tried.Forget(o)
			return nil
		case kind == fleet.Unanswered:
			p.tried.Note(o, s.ID)
			return err
		case cloud.IsOfZone(err):
			p.tried.Forget(o)
			refused = err
			tried = append(tried, s.Zone)
		default:
			p.tried.Forget(o)
			return cloud.Named(err)
		}
	}
	if refused == nil {
		return fleet.Errorf(fleet.Invalid, "find a subnet", "the cluster has none for the machine")
	}
	kind := fleet.Exhausted
	if cloud.Is(refused, "Unsupported") && len(subnets) == 1 {
		kind = fleet.Invalid
	}
	return &fleet.Error{Kind: kind, Err: fmt.Errorf("%w (tried %s; ask for another instanceType, or for more zones)", refused, strings.Join(tried, ", "))}
}

// runIn asks for the instance in a subnet. What the token gives may be a former one that ended: then another token asks for
// this one.
func (v *view) runIn(ctx context.Context, form url.Values, op fleet.OperationID, origin fleet.Origin, subnet string, former []string) (cloud.Instance, error) {
	const most = 3
	for range most {
		made, err := v.place.Run(ctx, cloud.Join(form, url.Values{"ClientToken": {clientToken(op, origin, subnet, former)}}))
		if err != nil || !made.Ending() {
			return made, err
		}
		former = append(former, made.ID)
		slices.Sort(former)
		former = slices.Compact(former)
	}
	return cloud.Instance{}, fleet.Errorf(fleet.Unavailable, "run instance", "AWS answers with instances that ended")
}

// formerOf returns the ids of instances that were machines of that name and ended.
func (v *view) formerOf(name fleet.MachineName) []string {
	var out []string
	for _, i := range v.ended {
		if i.Tags[fleet.TagMachine] == string(name) && !isCopied(i) {
			out = append(out, i.ID)
		}
	}
	slices.Sort(out)
	return out
}

// tokenOfOurs matches what clientToken returns.
var tokenOfOurs = regexp.MustCompile(`^[0-9a-f]{64}$`)

// isCopied reports whether people, or a backup, made an instance: only the tags are those of a machine.
func isCopied(i cloud.Instance) bool {
	return i.Token != "" && !tokenOfOurs.MatchString(i.Token) && i.Tags[adoptedTag] != i.ID
}

// clientToken is equal where the same machine is asked for in the same subnet: EC2 remembers tokens by zone.
func clientToken(op fleet.OperationID, origin fleet.Origin, subnet string, former []string) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(op), origin.Made.UTC().Format(time.RFC3339), subnet}, former...), "\x00")))
	return hex.EncodeToString(sum[:])
}

// mostTags is how many tags a thing of AWS has at most.
// Source: EC2 user guide, "Tag restrictions".
const mostTags = 50

// instance returns the parameters of RunInstances that are the same in all subnets.
// Source: EC2 API reference, RunInstances.
func (v *view) instance(ctx context.Context, spec *api.AWSMachineSpec, r providers.MachineRequest, op fleet.OperationID, boot bootstrap) (url.Values, error) {
	image, err := v.image(ctx, spec, r.Pool.Version)
	if err != nil {
		return nil, err
	}
	groups, err := v.groupsFor(ctx, spec, r.Pool.Role)
	if err != nil {
		return nil, err
	}
	if r.Pool.Role == fleet.RoleControlPlane && spec.AssignPrimaryIPv6 == api.Off && v.leadsBySix() {
		return nil, fleet.Errorf(fleet.Invalid, "lead to the API server", "the load balancer leads to servers by IPv6, and assignPrimaryIPv6 is disabled (leave it out)")
	}
	if spec.AssignPrimaryIPv6 == api.Off && v.isSix() {
		return nil, fleet.Errorf(fleet.Invalid, "join the cluster", "its Pods and Services have IPv6, and assignPrimaryIPv6 is disabled (leave it out)")
	}
	own := r.Tags(op)
	if r.Pool.Role == fleet.RoleControlPlane && r.APIPort != 0 {
		if port := v.targetPort(); r.APIPort != port && v.makesBalancer() {
			return nil, fleet.Errorf(fleet.Invalid, "lead to the API server", "the load balancer leads to port %d of all servers, and this one would listen at %d (set bindPort to %d)", port, r.APIPort, port)
		}
		own[portTag] = strconv.Itoa(int(r.APIPort))
	}
	if boot.store != "" && boot.store != cloud.SecretsManager {
		own[storeTag] = string(boot.store)
	}
	tags := ofMachine(v, own, r.Name, spec.AdditionalTags)
	if len(tags) > mostTags {
		return nil, fleet.Errorf(fleet.Invalid, "tag the instance", "with additionalTags of the cluster and of the machine it has %d tags, and AWS takes %d (leave some out)", len(tags), mostTags)
	}
	form := cloud.Tagged(tags, "instance", "volume", "network-interface")
	if len(spec.NetworkInterfaces) > 0 { // AWS takes tags of what it makes alone
		form = cloud.Tagged(tags, "instance", "volume")
	}
	set := func(key, value string) {
		if value != "" {
			form.Set(key, value)
		}
	}
	set("ImageId", image)
	set("InstanceType", spec.InstanceType)
	set("UserData", boot.userData)
	set("IamInstanceProfile.Name", spec.IAMInstanceProfile)
	set("KeyName", v.keyName(spec))
	for i, g := range groups {
		form.Set(fmt.Sprintf("SecurityGroupId.%d", i+1), g)
	}
	setMetadata(form, spec.InstanceMetadataOptions)
	if err := v.disks(ctx, form, spec, image); err != nil {
		return nil, err
	}
	v.market(form, spec)
	setHostname(form, spec.PrivateDNSName)
	if !form.Has("PrivateDnsNameOptions.HostnameType") {
		set("PrivateDnsNameOptions.HostnameType", v.spec.Network.VPC.PrivateDNSHostnameTypeOnLaunch)
	}
	if c := spec.CPUOptions; c != nil {
		set("CpuOptions.NestedVirtualization", c.NestedVirtualization)
	}
	if c := spec.CPUOptions; c != nil && c.ConfidentialCompute == "AMDEncryptedVirtualizationNestedPaging" {
		set("CpuOptions.AmdSevSnp", "enabled")
	}
	return form, nil
}

// setMetadata sets how an instance reads its metadata.
func setMetadata(form url.Values, o *api.InstanceMetadataOptions) {
	for key, value := range map[string]string{
		"HttpEndpoint": o.HTTPEndpoint, "HttpProtocolIpv6": o.HTTPProtocolIPv6, "HttpTokens": o.HTTPTokens, "InstanceMetadataTags": o.InstanceMetadataTags,
		"HttpPutResponseHopLimit": strconv.FormatInt(o.HTTPPutResponseHopLimit, 10),
	} {
		if value != "" {
			form.Set("MetadataOptions."+key, value)
		}
	}
}

// setHostname sets what an instance is called.
func setHostname(form url.Values, n *api.PrivateDNSName) {
	if n == nil {
		return
	}
	if n.HostnameType != "" {
		form.Set("PrivateDnsNameOptions.HostnameType", n.HostnameType)
	}
	form.Set("PrivateDnsNameOptions.EnableResourceNameDnsARecord", strconv.FormatBool(n.EnableResourceNameDNSARecord))
	form.Set("PrivateDnsNameOptions.EnableResourceNameDnsAAAARecord", strconv.FormatBool(n.EnableResourceNameDNSAAAARecord))
}

// market sets how the instance is paid for and where it is placed.
func (v *view) market(form url.Values, spec *api.AWSMachineSpec) {
	set := func(key, value string) {
		if value != "" {
			form.Set(key, value)
		}
	}
	switch spec.MarketType {
	case api.Spot:
		set("InstanceMarketOptions.MarketType", "spot")
		set("InstanceMarketOptions.SpotOptions.SpotInstanceType", "one-time")
		set("InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior", "terminate")
		set("InstanceMarketOptions.SpotOptions.MaxPrice", spec.SpotMarketOptions.MaxPrice)
	case api.CapacityBlock:
		set("InstanceMarketOptions.MarketType", "capacity-block")
	}
	set("CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId", spec.CapacityReservationID)
	if spec.CapacityReservationID == "" {
		set("CapacityReservationSpecification.CapacityReservationPreference", map[string]string{
			"None": "none", "Open": "open", "CapacityReservationsOnly": "capacity-reservations-only",
		}[spec.CapacityReservationPreference])
	}
	set("Placement.Tenancy", spec.Tenancy)
	set("Placement.HostId", spec.HostID)
	if spec.Tenancy == "host" {
		set("Placement.Affinity", spec.HostAffinity)
	}
	set("Placement.GroupName", spec.PlacementGroupName)
	if spec.PlacementGroupPartition > 0 {
		set("Placement.PartitionNumber", strconv.FormatInt(spec.PlacementGroupPartition, 10))
	}
}

// interfaceIn returns the parameters of the network interface in a subnet, or of those that the machine is given.
func (v *view) interfaceIn(spec *api.AWSMachineSpec, form url.Values, s cloud.Subnet) url.Values {
	public := spec.PublicIP != nil && *spec.PublicIP
	if len(spec.NetworkInterfaces) > 0 {
		return givenInterfaces(spec, form)
	}
	six := s.Six.Range() != "" && spec.AssignPrimaryIPv6 != api.Off && v.network(new(steps.Decision)).six != ""
	if !public && spec.NetworkInterfaceType == "" && !six && spec.AssignPrimaryIPv6 != api.Enabled {
		return url.Values{"SubnetId": {s.ID}}
	}
	out := url.Values{"NetworkInterface.1.DeviceIndex": {"0"}, "NetworkInterface.1.SubnetId": {s.ID}, "NetworkInterface.1.AssociatePublicIpAddress": {strconv.FormatBool(public)}}
	if spec.NetworkInterfaceType != "" {
		out.Set("NetworkInterface.1.InterfaceType", spec.NetworkInterfaceType)
	}
	if six || spec.AssignPrimaryIPv6 == api.Enabled {
		out.Set("NetworkInterface.1.PrimaryIpv6", "true")
		out.Set("NetworkInterface.1.Ipv6AddressCount", "1")
	}
	for i, g := range groupsIn(form) {
		out.Set(fmt.Sprintf("NetworkInterface.1.SecurityGroupId.%d", i+1), g)
		out[fmt.Sprintf("SecurityGroupId.%d", i+1)] = nil
	}
	return out
}

// keyName returns the key pair of a machine: its own, that of the cluster, or default. Empty: none.
func (v *view) keyName(spec *api.AWSMachineSpec) string {
	for _, k := range []*string{spec.SSHKeyName, v.spec.SSHKeyName} {
		if k != nil {
			return *k
		}
	}
	return "default"
}

// The image that upstream publishes for tests.
const (
	defaultImageOwner  = "819546954734"
	defaultImageOS     = "ubuntu-24.04"
	defaultImageFormat = "capa-ami-{{.BaseOS}}-?{{.K8sVersion}}-*"
)

// image returns the id of the image of a machine: the one that Git names, or the newest whose name follows from
// the version.
func (v *view) image(ctx context.Context, spec *api.AWSMachineSpec, version string) (string, error) {
	if spec.AMI != nil && spec.AMI.ID != "" {
		return spec.AMI.ID, nil
	}
	if api.IsManaged(v.c) {
		if image := v.eksImage(spec, version); image != "" {
			return image, nil
		}
	}
	owner := cmp.Or(spec.ImageLookupOrg, v.spec.ImageLookupOrg, defaultImageOwner)
	name, err := imageName(cmp.Or(spec.ImageLookupFormat, v.spec.ImageLookupFormat, defaultImageFormat), cmp.Or(spec.ImageLookupBaseOS, v.spec.ImageLookupBaseOS, defaultImageOS), version)
	if err != nil {
		return "", err
	}
	return v.newestImage(ctx, owner, name, architecture(spec.InstanceType), "name one by ami.id, or by imageLookupOrg, imageLookupBaseOS and imageLookupFormat")
}

// newestImage returns the id of the newest image of an account whose name is like name. todo says what people can do if there is
// none.
func (v *view) newestImage(ctx context.Context, owner, name, arch, todo string) (string, error) {
	all, err := v.place.Images(ctx, "owner-id", owner, "name", name, "architecture", arch, "state", "available", "virtualization-type", "hvm")
	if err != nil {
		return "", cloud.WrapLook("find image "+name, err)
	}
	if len(all) == 0 {
		return "", fleet.Errorf(fleet.Invalid, "find image "+name, "account %s has none of that name for %s in %s (%s)", owner, arch, v.spec.Region, todo)
	}
	return slices.MaxFunc(all, func(a, b cloud.Image) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) }).ID, nil
}

func imageName(format, os, version string) (string, error) {
	t, err := template.New("image").Parse(format)
	if err != nil {
		return "", fleet.Errorf(fleet.Invalid, "read imageLookupFormat", "%w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, map[string]string{"BaseOS": os, "K8sVersion": strings.TrimPrefix(version, "v")}); err != nil {
		return "", fleet.Errorf(fleet.Invalid, "read imageLookupFormat", "%w", err)
	}
	return b.String(), nil
}

// architecture returns that of a type of instances: AWS's own processors have a g after the number of the
// generation.
// Source: EC2 instance types, "Instance type naming conventions".
func architecture(instanceType string) string {
	family, _, _ := strings.Cut(instanceType, ".")
	if i := strings.IndexAny(family, "0123456789"); family == "a1" || i >= 0 && strings.Contains(family[i:], "g") {
		return "arm64"
	}
	return "x86_64"
}

// disks sets the volumes. The root volume has the device that the image says.
func (v *view) disks(ctx context.Context, form url.Values, spec *api.AWSMachineSpec, image string) error {
	n := 0
	add := func(device string, d api.Volume) {
		n++
		at := fmt.Sprintf("BlockDeviceMapping.%d.", n)
		form.Set(at+"DeviceName", device)
		form.Set(at+"Ebs.DeleteOnTermination", "true")
		form.Set(at+"Ebs.VolumeSize", strconv.FormatInt(d.Size, 10))
		form.Set(at+"Ebs.VolumeType", d.Type)
		if d.Encrypted != nil {
			form.Set(at+"Ebs.Encrypted", strconv.FormatBool(*d.Encrypted))
		}
		if d.EncryptionKey != "" {
			form.Set(at+"Ebs.KmsKeyId", d.EncryptionKey)
			form.Set(at+"Ebs.Encrypted", "true")
		}
		if d.IOPS > 0 {
			form.Set(at+"Ebs.Iops", strconv.FormatInt(d.IOPS, 10))
		}
		if d.Throughput != nil {
			form.Set(at+"Ebs.Throughput", strconv.FormatInt(*d.Throughput, 10))
		}
	}
	switch {
	case spec.RootVolume == nil:
	case image == "": // EKS chooses one
		add(cmp.Or(spec.RootVolume.DeviceName, "/dev/xvda"), *spec.RootVolume)
	default:
		id := image
		if name, ok := strings.CutPrefix(image, api.ResolveSSM); ok {
			var err error
			if id, err = v.place.Parameter(ctx, name); err != nil {
				return cloud.Named(err)
			}
		}
		got, err := v.place.Image(ctx, id)
		if err != nil {
			return cloud.Named(err)
		}
		add(got.Root, *spec.RootVolume)
	}
	for _, d := range spec.NonRootVolumes {
		add(d.DeviceName, d)
	}
	return nil
}

// groupsFor returns the security groups of a machine.
func (v *view) groupsFor(ctx context.Context, spec *api.AWSMachineSpec, role fleet.Role) ([]string, error) {
	d := new(steps.Decision)
	n := v.network(d)
	var ids map[string]string
	if v.cluster != nil {
		ids = map[string]string{api.NodeRole: v.cluster.VPC.Group}
	} else {
		ids = v.decideGroups(d, n)
	}
	for r, id := range spec.SecurityGroupOverrides {
		ids[r] = id
	}
	own := api.NodeRole
	if role == fleet.RoleControlPlane {
		own = api.ControlPlaneRole
	}
	if ids[own] == "" {
		return nil, fleet.Errorf(fleet.Conflict, "find the security group of the machine", "the infrastructure of the cluster is not complete")
	}
	out := []string{ids[own]}
	if ids[api.BalancerRole] != "" {
		out = append(out, ids[api.BalancerRole])
	}
	more, err := v.additionalGroups(ctx, spec.AdditionalSecurityGroups, n.vpc)
	return append(out, more...), err
}

// additionalGroups returns the ids of security groups of a VPC that Git names beside those of the cluster.
func (v *view) additionalGroups(ctx context.Context, refs []api.ResourceReference, vpc string) ([]string, error) {
	var out []string
	for _, ref := range refs {
		if ref.ID != "" {
			out = append(out, ref.ID)
			continue
		}
		found, err := v.place.Groups(ctx, append(filtersOf(ref), "vpc-id", vpc)...)
		if err != nil {
			return nil, cloud.WrapLook("find additionalSecurityGroups", err)
		}
		if len(found) == 0 {
			return nil, fleet.Errorf(fleet.Invalid, "find additionalSecurityGroups", "no security group of %s passes the filters", vpc)
		}
		for _, g := range found {
			out = append(out, g.ID)
		}
	}
	return out, nil
}

func filtersOf(ref api.ResourceReference) []string {
	var out []string
	for _, f := range ref.Filters {
		for _, value := range f.Values {
			out = append(out, f.Name, value)
		}
	}
	return out
}

// fullFor is how long a zone in which an instance ended for lack of room is asked after the others.
const fullFor = 10 * time.Minute

// subnetsFor returns the subnets in which the machine of r may be, the best first: those of its failure domain,
// or of any zone that has the type, the one with the fewest machines of its pool first. The failure domain of a server is not
// Git's choice: other zones come after it.
func (v *view) subnetsFor(ctx context.Context, spec *api.AWSMachineSpec, r providers.MachineRequest) ([]cloud.Subnet, error) {
	n := v.network(new(steps.Decision))
	from := n.private
	given, err := v.given(ctx, spec, r, n.vpc)
	if err != nil {
		return nil, err
	}
	if len(given) > 0 {
		s := v.s.Subnets.Get(given[0].Subnet)
		if s == nil {
			return nil, fleet.Errorf(fleet.Unavailable, "find a subnet", "%s of network interface %s is not listed yet", given[0].Subnet, given[0].ID)
		}
		from = []cloud.Subnet{*s}
	}
	if spec.PublicIP != nil && *spec.PublicIP && len(n.public) > 0 {
		from = n.public
	}
	if ref := spec.Subnet; ref != nil {
		var err error
		if from, err = v.namedSubnets(ctx, *ref, n.vpc); err != nil {
			return nil, err
		}
	}
	places, err := api.ReadPlaces(r.Pool.Infrastructure)
	if err != nil {
		return nil, err
	}
	if places != nil {
		if from, err = v.subnetsIn(ctx, *places, n); err != nil {
			return nil, err
		}
	}
	if of := r.Pool.FailureDomains; len(of) > 0 { // of a MachinePool
		from = slices.DeleteFunc(slices.Clone(from), func(s cloud.Subnet) bool { return !slices.Contains(of, s.Zone) })
	}
	if r.FailureDomain != "" {
		in := inZone(from, r.FailureDomain)
		if len(in) == 0 {
			return nil, fleet.Errorf(fleet.Invalid, "find a subnet", "the cluster has none for machines in failure domain %s", r.FailureDomain)
		}
		if r.Pool.Role != fleet.RoleControlPlane && len(r.Pool.FailureDomains) == 0 {
			from = in
		}
	}
	if r.Pool.Role == fleet.RoleControlPlane && v.leadsBySix() || v.isSix() {
		from = slices.DeleteFunc(slices.Clone(from), func(s cloud.Subnet) bool { return s.Six.Range() == "" })
		if len(from) == 0 {
			return nil, fleet.Errorf(fleet.Invalid, "find a subnet", "the machine needs an address of IPv6, and no subnet for it has one (add ranges of IPv6 in AWS, or name other subnets)")
		}
	}
	if spec.AssignPrimaryIPv6 == api.Enabled && slices.ContainsFunc(from, func(s cloud.Subnet) bool { return s.Six.Range() == "" }) {
		return nil, fleet.Errorf(fleet.Invalid, "find a subnet", "assignPrimaryIPv6 is enabled, and not all subnets for the machine have IPv6 (add network.vpc.ipv6, or leave it out)")
	}
	zones, err := v.place.ZonesOf(ctx, spec.InstanceType)
	if err != nil {
		return nil, cloud.WrapLook("find zones of "+spec.InstanceType, err)
	}
	if len(zones) == 0 {
		return nil, fleet.Errorf(fleet.Invalid, "find zones of "+spec.InstanceType, "%s has no such type of instances (name another in instanceType)", v.spec.Region)
	}
	fit := slices.DeleteFunc(slices.Clone(from), func(s cloud.Subnet) bool { return !slices.Contains(zones, s.Zone) })
	if len(fit) == 0 {
		return nil, fleet.Errorf(fleet.Invalid, "find a subnet", "%s is offered in %s, and the machine may be in none of these (name another instanceType, or another failureDomain)", spec.InstanceType, strings.Join(zones, ", "))
	}
	count := map[string]int{r.FailureDomain: -len(v.instances) - 1} // the first one
	for _, i := range v.instances {
		if i.Tags[fleet.TagPool] == string(r.Pool.Name) {
			count[i.Zone]++
		}
	}
	for _, i := range v.ended { // a zone that had no room just now is behind others
		if i.ReasonCode == "Server.InsufficientInstanceCapacity" && i.Type == spec.InstanceType && time.Since(i.Launched) < fullFor {
			count[i.Zone] += len(v.instances) + 1
		}
	}
	slices.SortStableFunc(fit, func(a, b cloud.Subnet) int {
		return cmp.Or(cmp.Compare(count[a.Zone], count[b.Zone]), cmp.Compare(a.Zone, b.Zone), cmp.Compare(b.Free, a.Free), cmp.Compare(a.ID, b.ID))
	})
	return fit, nil
}

// subnetsIn returns those in which machines of an AWSMachinePool may be.
func (v *view) subnetsIn(ctx context.Context, p api.Places, n network) ([]cloud.Subnet, error) {
	from := n.private
	switch p.Kind {
	case api.PublicSubnets:
		from = n.public
	case api.AllSubnets:
		from = slices.Concat(n.private, n.public)
	}
	if len(p.Subnets) > 0 {
		from = nil
	}
	for _, ref := range p.Subnets {
		some, err := v.namedSubnets(ctx, ref, n.vpc)
		if err != nil {
			return nil, err
		}
		from = append(from, some...)
	}
	if len(p.Zones) > 0 {
		from = slices.DeleteFunc(slices.Clone(from), func(s cloud.Subnet) bool { return !slices.Contains(p.Zones, s.Zone) })
	}
	if len(from) == 0 {
		return nil, fleet.Errorf(fleet.Invalid, "find a subnet", "no subnet of the cluster is as availabilityZones and availabilityZoneSubnetType of the AWSMachinePool say (name others, or name subnets)")
	}
	return from, nil
}

// namedSubnets returns those that a template names.
func (v *view) namedSubnets(ctx context.Context, ref api.ResourceReference, vpc string) ([]cloud.Subnet, error) {
	if ref.ID != "" {
		s := v.s.Subnets.Get(ref.ID)
		if s == nil || s.VPC != vpc {
			return nil, fleet.Errorf(fleet.Invalid, "find subnet "+ref.ID, "there is none in %s (name one that exists)", vpc)
		}
		return []cloud.Subnet{*s}, nil
	}
	found, err := v.place.Subnets(ctx, append(filtersOf(ref), "vpc-id", vpc)...)
	if err != nil {
		return nil, cloud.WrapLook("find subnet", err)
	}
	if len(found) == 0 {
		return nil, fleet.Errorf(fleet.Invalid, "find subnet", "no subnet of %s passes the filters", vpc)
	}
	sortSubnets(found)
	return found, nil
}
