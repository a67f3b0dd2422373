package azure

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// userDataLimit is the largest custom data, in bytes.
// Source: Azure documentation, "Custom data and cloud-init on Azure Virtual Machines".
const userDataLimit = 65535

// limitUserData refuses user data with which no VM can boot.
func limitUserData(u providers.UserData) error {
	_, err := userData(u, "")
	return err
}

// userData returns u for the VM with a provider id.
func userData(u providers.UserData, id fleet.ProviderID) ([]byte, error) {
	u.Content = fleet.NewSecret(bytes.ReplaceAll(u.Content.Reveal(), []byte(idPrefix+idHere), []byte(id)))
	return u.Fit(userDataLimit)
}

// How many tags a resource has at most, and how many a private zone of DNS.
// Source: Azure documentation, "Use tags to organize your Azure resources", limitations.
const (
	mostTags     = 50
	mostZoneTags = 15
)

// Create implements driver.Driver: a VM is requested in the first zone that has room for it.
func (p machines) Create(ctx context.Context, what string, op fleet.OperationID, r providers.MachineRequest, v *view) error {
	return arm.Wrap(what, p.create(ctx, op, r, v))
}

func (p *Provider) create(ctx context.Context, op fleet.OperationID, r providers.MachineRequest, v *view) error {
	spec, err := api.ReadMachine(r.Pool.Infrastructure)
	if err != nil {
		return err
	}
	left, _ := v.leftovers()
	for _, x := range left { // Azure refuses a VM whose parts are there
		if x.machine != r.Name {
			continue
		}
		if err := v.deleteLeftover(ctx, x); err != nil {
			return err
		}
		return fleet.Errorf(fleet.Unavailable, "clear the name of the machine", "%s %s of a former machine is being deleted", x.kind, x.name)
	}
	body, err := v.virtualMachine(spec, r, op)
	if err != nil {
		return err
	}
	zones, err := v.zonesFor(ctx, spec, r)
	if err != nil {
		return err
	}
	if zones[0] == "" && inSet(spec) && v.edge() == nil && v.machinesOf(r.Pool.Name) < mostInSet {
		set, err := v.availabilitySet(ctx, r)
		if err != nil {
			return err
		}
		propertiesIn(body)["availabilitySet"] = arm.Ref{ID: set}
	}
	defer v.place.lists.Changed(v.owner.Part(r.Name))
	return v.run(ctx, spec, r, body, zones)
}

// run requests the VM in the first of zones, and where that has no room, in the next. All have one name, so that one
// VM is made, even if an answer is lost.
func (v *view) run(ctx context.Context, spec *api.AzureMachineSpec, r providers.MachineRequest, body map[string]any, zones []string) error {
	id := v.place.resource(arm.VMs, string(r.Name))
	var refused error
	for _, z := range zones {
		if delete(body, "zones"); z != "" {
			body["zones"] = []string{z}
		}
		v.p.o.Log.InfoContext(ctx, "requesting a VM", "machine", string(r.Name), "size", spec.VMSize, "zone", z)
		err := v.place.Put(ctx, id, body, arm.Absent())
		switch {
		case err == nil:
			return nil
		case arm.IsTaken(err):
			return v.isRequested(ctx, id, r, err)
		case !arm.IsCapacity(err):
			return arm.Named(err)
		}
		refused = err
		v.p.full.Note(v.room(spec.VMSize, z, spec.SpotVMOptions != nil), time.Now())
	}
	if zones[0] == "" {
		return fleet.Errorf(fleet.Exhausted, "", "%w", refused)
	}
	return fleet.Errorf(fleet.Exhausted, "", "%w (tried zones %s)", refused, strings.Join(zones, ", "))
}

// isRequested returns nil if the VM with an id is the machine of r.
func (v *view) isRequested(ctx context.Context, id string, r providers.MachineRequest, taken error) error {
	now, err := v.place.vm(ctx, id)
	if err != nil {
		return err
	}
	if now == nil {
		return fleet.Errorf(fleet.Unavailable, "", "%w", taken)
	}
	tags := tagsFrom(now.Tags)
	if v.c.Owns(tags) && tags[fleet.TagMachine] == string(r.Name) && tags[fleet.TagTemplate] == string(r.Pool.Template) && now.Properties.Provisioning != "Deleting" {
		return nil
	}
	return fleet.Errorf(fleet.Conflict, "", "resource group %s has another VM %s (delete it, or give the cluster a resource group of its own)", v.place.group, r.Name)
}

// zonesFor returns the zones in which the machine of r may be, the best first: that of its failure domain, or any that
// its size has, the one with the fewest machines of its pool first. The failure domain of a server is not Git's choice: other
// zones come after it. One without room for the size is left out for some minutes, and comes after the others for some more. A
// size without zones has one, without a name.
func (v *view) zonesFor(ctx context.Context, spec *api.AzureMachineSpec, r providers.MachineRequest) ([]string, error) {
	op := "find a zone for " + spec.VMSize
	s, ok, err := v.place.sizeOf(ctx, v.spec.Location, spec.VMSize)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fleet.Errorf(fleet.Invalid, op, "%s has no such size (name another in vmSize)", v.spec.Location)
	case s.blocked:
		return nil, fleet.Errorf(fleet.Exhausted, op, "the subscription may not use it in %s (request access to it in Azure, or name another in vmSize)", v.spec.Location)
	}
	if v.edge() != nil { // it has none
		s.zones = nil
	}
	zones := s.zones
	if at := api.PoolLocation(r.Pool.Infrastructure); at != "" && at != v.spec.Location {
		return nil, fleet.Errorf(fleet.Invalid, op, "the AzureMachinePool is in %s and the cluster in %s (set location of the AzureMachinePool to that of the cluster)", at, v.spec.Location)
	}
	of := r.Pool.FailureDomains
	for _, z := range of {
		if !slices.Contains(zones, z) {
			return nil, fleet.Errorf(fleet.Invalid, op, "%s has it in zones %s, and failureDomains of the MachinePool name zone %s (name another in vmSize or failureDomains)", v.spec.Location, cmp.Or(strings.Join(zones, ", "), "none"), z)
		}
	}
	chosen := len(of) > 0 || r.Pool.Role == fleet.RoleControlPlane && spec.FailureDomain == "" // by Fairlead
	if want := cmp.Or(r.FailureDomain, spec.FailureDomain); want != "" && !chosen {
		if !slices.Contains(zones, want) {
			return nil, fleet.Errorf(fleet.Invalid, op, "%s has it in zones %s, and the machine is to be in zone %s (name another in vmSize or failureDomain)", v.spec.Location, cmp.Or(strings.Join(zones, ", "), "none"), want)
		}
		zones = []string{want}
	} else if len(of) > 0 {
		zones = of
	} else if len(v.spec.FailureDomains) > 0 {
		zones = slices.DeleteFunc(slices.Clone(zones), func(z string) bool { _, ok := v.spec.FailureDomains[z]; return !ok })
		if len(zones) == 0 {
			return nil, fleet.Errorf(fleet.Invalid, op, "%s has it in zones %s, and none of these is in failureDomains of the cluster", v.spec.Location, strings.Join(s.zones, ", "))
		}
	}
	if len(zones) == 0 {
		zones = []string{""}
	}
	v.p.full.ForgetIf(func(_ room, at time.Time) bool { return time.Since(at) > doubtedFor })
	doubted := make(map[string]int)
	free := slices.DeleteFunc(slices.Clone(zones), func(z string) bool {
		at, ok := v.p.full.Of(v.room(spec.VMSize, z, spec.SpotVMOptions != nil))
		if ok {
			doubted[z] = 1
		}
		return ok && time.Since(at) <= fullFor
	})
	if len(free) == 0 && zones[0] == "" {
		return nil, fleet.Errorf(fleet.Exhausted, op, "%s has no capacity for it now (wait, or ask for another vmSize)", v.spec.Location)
	}
	if len(free) == 0 {
		return nil, fleet.Errorf(fleet.Exhausted, op, "%s has no capacity for it in zones %s now (wait, or ask for another vmSize, or for more zones)", v.spec.Location, strings.Join(zones, ", "))
	}
	count := map[string]int{r.FailureDomain: -len(v.vms) - 1} // the first one
	for _, m := range v.vms {
		if m.machine.Pool == r.Pool.Name {
			count[m.machine.FailureDomain]++
		}
	}
	slices.SortStableFunc(free, func(a, b string) int {
		return cmp.Or(cmp.Compare(doubted[a], doubted[b]), cmp.Compare(count[a], count[b]), cmp.Compare(a, b))
	})
	return free, nil
}

// publicInfix ends the name of the public address of a machine. That of one that Cluster API made begins with theirPublic.
// Source: CAPZ, azure/defaults.go.
const (
	publicInfix = "-public-ip"
	theirPublic = "pip-"
)

// adminUser is the user of VMs, which a key of Git logs in.
const adminUser = "capi"

// virtualMachine returns what the VM of r is, without its zone.
// Source: Azure REST API, Virtual Machines, Create Or Update.
func (v *view) virtualMachine(spec *api.AzureMachineSpec, r providers.MachineRequest, op fleet.OperationID) (map[string]any, error) {
	data, err := userData(r.UserData, providerID(v.place.resource(arm.VMs, string(r.Name))))
	if err != nil {
		return nil, err
	}
	own := r.Tags(op)
	if r.Pool.Role == fleet.RoleControlPlane && r.APIPort != 0 {
		if port := v.targetPort(); r.APIPort != port && !v.c.ServedElsewhere() {
			return nil, fleet.Errorf(fleet.Invalid, "lead to the API server", "the load balancer leads to port %d of all servers, and this one listens at %d (set bindPort to %d for servers that join)", port, r.APIPort, port)
		}
		own[portTag] = strconv.Itoa(int(r.APIPort))
	}
	tags := tagsFor(own, v.spec.AdditionalTags, spec.AdditionalTags)
	if len(tags) > mostTags {
		return nil, fleet.Errorf(fleet.Invalid, "tag the VM", "with additionalTags of the cluster and of the machine it has %d tags, and Azure takes %d (leave some out)", len(tags), mostTags)
	}
	nics, err := v.interfaces(spec, r, tags)
	if err != nil {
		return nil, err
	}
	key, err := sshKey(spec.SSHPublicKey)
	if err != nil {
		return nil, err
	}
	image, plan := imageOf(spec.Image, r.Pool.Version, v.place.Subscription())
	p := map[string]any{
		"hardwareProfile": map[string]any{"vmSize": spec.VMSize},
		"storageProfile":  map[string]any{"imageReference": image, "osDisk": osDisk(spec, r.Name), "dataDisks": dataDisks(spec, r.Name)},
		"osProfile": map[string]any{
			"computerName": string(r.Name), "adminUsername": adminUser, "customData": base64.StdEncoding.EncodeToString(data),
			"allowExtensionOperations": !ptr.Deref(spec.DisableExtensionOperations, false),
			"linuxConfiguration": map[string]any{
				"disablePasswordAuthentication": true,
				"ssh":                           map[string]any{"publicKeys": []any{map[string]any{"path": "/home/" + adminUser + "/.ssh/authorized_keys", "keyData": key}}},
			},
		},
		"networkProfile":     map[string]any{"networkApiVersion": "2022-11-01", "networkInterfaceConfigurations": nics},
		"diagnosticsProfile": map[string]any{"bootDiagnostics": diagnostics(spec)},
	}
	v.extras(spec, p)
	if n := api.Notice(r.Pool.Infrastructure); n > 0 {
		p["scheduledEventsProfile"] = map[string]any{"terminateNotificationProfile": map[string]any{"enable": true, "notBeforeTimeout": fmt.Sprintf("PT%dM", n)}}
	}
	body := map[string]any{"location": v.spec.Location, "tags": tags, "properties": p}
	v.inEdge(arm.VMs, body)
	if plan != nil {
		body["plan"] = plan
	}
	if spec.Identity == api.UserAssigned {
		ids := make(map[string]any)
		for _, id := range spec.UserAssignedIdentities {
			ids[id.ProviderID] = map[string]any{}
		}
		body["identity"] = map[string]any{"type": api.UserAssigned, "userAssignedIdentities": ids}
	}
	return body, nil
}

// spotPriority is that of VMs that Azure may take back.
const spotPriority = "Spot"

// extras sets what few VMs have.
func (v *view) extras(spec *api.AzureMachineSpec, p map[string]any) {
	if o := spec.SpotVMOptions; o != nil {
		price := any(-1)
		if o.MaxPrice != nil {
			price = o.MaxPrice.AsApproximateFloat64()
		}
		p["priority"], p["evictionPolicy"], p["billingProfile"] = spotPriority, o.EvictionPolicy, map[string]any{"maxPrice": price}
	}
	if s := spec.SecurityProfile; s != nil { // Azure names its fields as CAPZ does
		p["securityProfile"] = s
	}
	switch c := spec.AdditionalCapabilities; {
	case hasUltraDisks(spec):
		p["additionalCapabilities"] = map[string]any{"ultraSSDEnabled": true}
	case c != nil:
		p["additionalCapabilities"] = c
	}
	if spec.VirtualMachineScaleSetID != "" {
		p["virtualMachineScaleSet"] = arm.Ref{ID: spec.VirtualMachineScaleSetID}
	}
	if spec.CapacityReservationGroupID != "" {
		p["capacityReservation"] = map[string]any{"capacityReservationGroup": arm.Ref{ID: spec.CapacityReservationGroupID}}
	}
}

// interfaces returns the network interfaces, which are made and deleted with the VM. The first one of a server is behind
// the load balancer from its beginning.
func (v *view) interfaces(spec *api.AzureMachineSpec, r providers.MachineRequest, tags arm.Tags) ([]any, error) {
	n := v.network(new(steps.Decision))
	list := spec.NetworkInterfaces
	if len(list) == 0 {
		list = []api.NetworkInterface{{SubnetName: spec.SubnetName, AcceleratedNetworking: spec.AcceleratedNetworking}}
	}
	var out []any
	for i, want := range list {
		s := n.subnet(r.Pool.Role, want.SubnetName)
		if s == nil && want.SubnetName != "" {
			return nil, fleet.Errorf(fleet.Invalid, "find subnet "+want.SubnetName, "networkSpec.subnets of the cluster has no such subnet that is ready")
		}
		if s == nil {
			return nil, fleet.Errorf(fleet.Conflict, "find the subnet of the machine", "the infrastructure of the cluster is not complete")
		}
		name := string(r.Name) + "-nic"
		if i > 0 {
			name = fmt.Sprintf("%s-nic-%d", r.Name, i)
		}
		address := map[string]any{"primary": true, "subnet": arm.Ref{ID: s.id}, "privateIPAddressVersion": "IPv4"}
		var pools []any
		if i == 0 && r.Pool.Role == fleet.RoleControlPlane && !v.c.ServedElsewhere() {
			pool := v.pool()
			if pool == "" {
				return nil, fleet.Errorf(fleet.Conflict, "find the load balancer of the API server", "the infrastructure of the cluster is not complete")
			}
			pools = append(pools, arm.Ref{ID: pool})
		}
		if i == 0 {
			more, err := v.outboundPools(r.Pool.Role)
			if err != nil {
				return nil, err
			}
			pools = append(pools, more...)
		}
		if len(pools) > 0 {
			address["loadBalancerBackendAddressPools"] = pools
		}
		if i == 0 && ptr.Deref(spec.AllocatePublicIP, false) {
			address["publicIPAddressConfiguration"] = map[string]any{
				"name": string(r.Name) + publicInfix, "sku": map[string]any{"name": "Standard"}, "tags": tags,
				"properties": map[string]any{"deleteOption": "Delete", "publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4"},
			}
		}
		addresses := []any{map[string]any{"name": "pipConfig", "properties": address}}
		if s.six {
			addresses = append(addresses, map[string]any{"name": "ipConfigv6", "properties": map[string]any{"subnet": arm.Ref{ID: s.id}, "privateIPAddressVersion": "IPv6"}})
		}
		p := map[string]any{
			"primary": i == 0, "deleteOption": "Delete", "enableIPForwarding": ptr.Deref(spec.EnableIPForwarding, false),
			"ipConfigurations": addresses,
		}
		if len(spec.DNSServers) > 0 {
			p["dnsSettings"] = map[string]any{"dnsServers": spec.DNSServers}
		}
		if want.AcceleratedNetworking != nil {
			p["enableAcceleratedNetworking"] = *want.AcceleratedNetworking
		}
		out = append(out, map[string]any{"name": name, "properties": p, "tags": tags})
	}
	return out, nil
}

func osDisk(spec *api.AzureMachineSpec, name fleet.MachineName) map[string]any {
	d := spec.OSDisk
	out := map[string]any{"name": string(name) + "_OSDisk", "osType": d.OSType, "createOption": "FromImage", "deleteOption": "Delete", "caching": d.CachingType}
	if d.DiskSizeGB != nil {
		out["diskSizeGB"] = *d.DiskSizeGB
	}
	if d.DiffDiskSettings != nil { // Azure names the fields of these as CAPZ does
		out["diffDiskSettings"] = d.DiffDiskSettings
	}
	if d.ManagedDisk != nil {
		out["managedDisk"] = d.ManagedDisk
	}
	return out
}

func dataDisks(spec *api.AzureMachineSpec, name fleet.MachineName) []any {
	out := []any{}
	for _, d := range spec.DataDisks {
		disk := map[string]any{
			"name": string(name) + "_" + d.NameSuffix, "lun": *d.LUN, "diskSizeGB": d.DiskSizeGB, "createOption": "Empty", "deleteOption": "Delete", "caching": d.CachingType,
		}
		if d.ManagedDisk != nil {
			disk["managedDisk"] = d.ManagedDisk
		}
		out = append(out, disk)
	}
	return out
}

func diagnostics(spec *api.AzureMachineSpec) map[string]any {
	d := spec.Diagnostics
	switch {
	case d == nil || d.Boot == nil || d.Boot.StorageAccountType == "Managed":
		return map[string]any{"enabled": true}
	case d.Boot.StorageAccountType == "Disabled":
		return map[string]any{"enabled": false}
	}
	return map[string]any{"enabled": true, "storageUri": d.Boot.UserManaged.StorageAccountURI}
}

// The images that CAPZ publishes in a gallery of the community.
// Source: CAPZ, azure/defaults.go.
const (
	defaultGallery = "ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019"
	defaultImage   = "capi-ubun2-2404"
)

// imageOf returns what the disk of a VM is made from, and the plan by which it is bought; nil: it needs none.
func imageOf(i *api.Image, version, subscription string) (image, plan map[string]any) {
	community := func(gallery, name, version string) map[string]any {
		return map[string]any{"communityGalleryImageId": "/CommunityGalleries/" + gallery + "/Images/" + name + "/Versions/" + version}
	}
	bought := func(publisher, offer, sku string) map[string]any {
		return map[string]any{"publisher": publisher, "product": offer, "name": sku}
	}
	shared := func(subscription, group, gallery, name, version string) map[string]any {
		return map[string]any{"id": arm.GroupID(subscription, group) + "/providers/Microsoft.Compute/galleries/" + gallery + "/images/" + name + "/versions/" + version}
	}
	switch {
	case i == nil:
		return community(defaultGallery, defaultImage, strings.TrimPrefix(version, "v")), nil
	case i.ID != "":
		return map[string]any{"id": i.ID}, nil
	case i.Marketplace != nil:
		m := i.Marketplace
		if ptr.Deref(m.ThirdPartyImage, false) {
			plan = bought(m.Publisher, m.Offer, m.SKU)
		}
		return map[string]any{"publisher": m.Publisher, "offer": m.Offer, "sku": m.SKU, "version": m.Version}, plan
	case i.SharedGallery != nil:
		g := i.SharedGallery
		if g.Publisher != "" {
			plan = bought(g.Publisher, g.Offer, g.SKU)
		}
		return shared(g.SubscriptionID, g.ResourceGroup, g.Gallery, g.Name, g.Version), plan
	}
	g := i.ComputeGallery
	if g.Plan != nil {
		plan = bought(g.Plan.Publisher, g.Plan.Offer, g.Plan.SKU)
	}
	if g.SubscriptionID == "" {
		return community(g.Gallery, g.Name, g.Version), plan
	}
	return shared(g.SubscriptionID, g.ResourceGroup, g.Gallery, g.Name, g.Version), plan
}

// sshKey returns the public key that Git has, or one whose private key is not kept: Azure makes no VM without a key.
func sshKey(encoded string) (string, error) {
	if encoded != "" {
		text, err := base64.StdEncoding.DecodeString(encoded)
		return strings.TrimSpace(string(text)), err
	}
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	const kind = "ssh-ed25519"
	wire := binary.BigEndian.AppendUint32(nil, uint32(len(kind)))
	wire = append(wire, kind...)
	wire = binary.BigEndian.AppendUint32(wire, uint32(len(public))) //nolint:gosec // 32 bytes
	return kind + " " + base64.StdEncoding.EncodeToString(append(wire, public...)), nil
}
