package metal3

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/host"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// EnsureInfrastructure implements providers.Infrastructure: it takes the next step of each host
// that may take one. What fails of a host without a consumer is reported for that host, and holds up
// no other.
func (p *Provider) EnsureInfrastructure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	op := "create infrastructure of " + c.Key.String()
	o := snapshot.OwnerOf(c)
	got, err := p.look(ctx, c, o)
	if err != nil {
		return wrap(op, err)
	}
	var hosts []*observedHost
	for i := range got.hosts {
		hosts = append(hosts, &got.hosts[i])
	}
	errs := driver.Step(ctx, stepper{p, got}, hosts)
	p.found.Note(o, true)
	return wrap(op, fleet.JoinErrors(errs...))
}

// A stepper takes next steps of the hosts of an observation.
type stepper struct {
	*Provider
	got *observation
}

// Next implements driver.Stepper.
func (p stepper) Next(h *observedHost) string { return p.upkeep(p.got, h, time.Now()) }

// Alone implements driver.Stepper.
func (p stepper) Alone(h *observedHost, do func() error) error {
	id := p.got.nodeID(h)
	if !p.deciding.TryLock(id) {
		return nil
	}
	defer p.deciding.Unlock(id)
	owner := snapshot.OwnerOf(p.got.cluster)
	if h.tags != nil {
		owner = owner.Part(fleet.MachineName(h.tags[fleet.TagMachine]))
	}
	defer p.got.listings.Changed(owner)
	err := do()
	if h.tags == nil {
		return nil
	}
	return err
}

// Again implements driver.Stepper.
func (p stepper) Again(ctx context.Context, h *observedHost) (now *observedHost, same bool, err error) {
	now, err = p.again(ctx, p.got, h)
	return now, err == nil && sameMachine(now, h), err
}

// Do implements driver.Stepper.
func (p stepper) Do(ctx context.Context, h *observedHost) error {
	id := p.got.nodeID(h)
	err := p.take(ctx, p.got, h, id)
	if ironic.IsLocked(err) {
		return nil
	}
	p.noteTry(id, h, err)
	if ironic.IsWrongState(err) { // it changed since, or this Ironic does not do it in that state: then it is not asked at each look
		return nil
	}
	return err
}

// take asks for the next step of h.
func (p *Provider) take(ctx context.Context, o *observation, h *observedHost, id string) error {
	if h.outdated != "" {
		info, properties, err := p.wanted(ctx, o, h)
		if err != nil {
			return err
		}
		if err := o.client.Configure(ctx, id, info, properties); err != nil {
			return err
		}
		p.told.Note(id, accountOf(info, true))
		return nil
	}
	switch h.next.Step {
	case host.Renew:
		return o.client.Delete(ctx, id)
	case host.Create:
		return p.enrol(ctx, o, h, id)
	case host.Manage:
		if h.node.State == ironic.Enroll && h.object != nil { // who enrolled it may have ended before its network card was told
			if err := p.enrol(ctx, o, h, id); err != nil {
				return err
			}
		}
		return o.client.Manage(ctx, id)
	case host.Inspect:
		return o.client.Inspect(ctx, id)
	case host.Provide:
		return o.client.Provide(ctx, id)
	case host.Claim:
		return o.reclaim(ctx, h, id)
	case host.Adopt:
		return o.client.Adopt(ctx, id)
	case host.Deploy:
		if o.mustGiveBackAddress(h) {
			return o.client.Unclaim(ctx, id, h.node.Instance)
		}
		return o.client.Deploy(ctx, id, machine.DeployStep(h.node.Info))
	case host.PowerOn:
		return o.client.Power(ctx, id, ironic.On)
	case host.PowerOff:
		return o.client.Power(ctx, id, ironic.Off)
	case host.Prepare:
		return o.prepare(ctx, h, id, func(ctx context.Context, id string, steps []ironic.Step) error {
			return o.ifUnclaimed(ctx, h, id, func() error { return o.client.Clean(ctx, id, steps) })
		})
	case host.Service:
		return o.prepare(ctx, h, id, o.client.Service)
	case host.NotePrepared, host.NoteUnprepared:
		return o.client.Note(ctx, id, machine.PreparationKey, h.prepared.Ended(h.next.Step == host.NotePrepared), nil)
	case host.Abort:
		return o.client.Abort(ctx, id)
	case host.UnsetMaintenance:
		return o.client.UnsetMaintenance(ctx, id)
	}
	return nil
}

// ifUnclaimed runs do if no machine claimed the node of h since the listing, which may be old. Do
// may restart or erase the host.
func (o *observation) ifUnclaimed(ctx context.Context, h *observedHost, id string, do func() error) error {
	n, err := o.client.Node(ctx, id)
	if err != nil {
		return err
	}
	if n.Instance != "" {
		return fleet.Errorf(fleet.Conflict, "prepare host "+h.String(), "it was claimed as %s meanwhile", n.Instance)
	}
	return do()
}

// prepare has Ironic do to h what Git wants of it. That is noted before, so that the next look
// knows what ended then.
func (o *observation) prepare(ctx context.Context, h *observedHost, id string, begin func(context.Context, string, []ironic.Step) error) error {
	if h.declared.Preparation == host.Unprepared {
		asked := h.wish.Ask(h.prepared, h.node.Updated)
		if err := o.client.Note(ctx, id, machine.PreparationKey, asked, h.wish.Interfaces(h.prepared, h.spec)); err != nil {
			return err
		}
	}
	if d := h.wish.Disks(h.prepared, h.spec); d != nil {
		if err := o.client.SetDisks(ctx, id, d); err != nil {
			return err
		}
	}
	return begin(ctx, id, h.wish.Steps(h.prepared))
}

// enrol has Ironic know h. An Ironic that does not inspect by a ramdisk inspects as it does.
func (p *Provider) enrol(ctx context.Context, o *observation, h *observedHost, id string) error {
	bmc, err := api.ParseBMC(h.spec.BMC.Address, !h.spec.BMC.DisableCertificateVerification)
	if err != nil {
		return fleet.Errorf(fleet.Invalid, "enrol host "+h.String(), "spec.bmc.address %w", err)
	}
	info, properties, err := p.wanted(ctx, o, h)
	if err != nil {
		return err
	}
	s := ironic.Spec{
		UUID: id, Name: machine.NodeName(h.Namespace, h.Name), Driver: bmc.Driver, DriverInfo: info, Properties: properties,
		Interfaces: map[string]string{"boot": bmc.Interfaces["boot"]}, AutomatedClean: machine.CleansAutomatically(h.spec, nil), MAC: h.spec.BootMACAddress,
	}
	switch h.spec.InspectionMode {
	case api.InspectDisabled:
	case api.InspectFast:
		s.Interfaces["inspect"] = bmc.Interfaces["inspect"]
	default:
		s.Interfaces["inspect"] = "agent"
	}
	err = o.client.Create(ctx, s)
	if ironic.LacksInterface(err) && s.Interfaces["inspect"] == "agent" {
		delete(s.Interfaces, "inspect")
		err = o.client.Create(ctx, s)
	}
	return err
}

// reclaim claims h for the machine that is remembered to run on it.
func (o *observation) reclaim(ctx context.Context, h *observedHost, id string) error {
	if !h.lost {
		return nil
	}
	pool, ok := o.cluster.Pool(fleet.PoolName(h.tags[fleet.TagPool]))
	if !ok {
		return fleet.Errorf(fleet.Conflict, "adopt host "+h.String(), "Git has no pool %s any more, and Ironic wants to know an image of the machine on it (bring the pool back)", h.tags[fleet.TagPool])
	}
	spec, err := api.ReadMachine(pool.Infrastructure)
	if err != nil {
		return err
	}
	info := machine.InstanceInfo(spec, h.spec)
	info[infoKey] = h.tags
	_, err = o.client.Claim(ctx, id, ironic.Claim{
		Instance: instanceOf(h.tags), Info: info, Extra: extraOf(h.tags, false), Deploy: machine.DeployInterface(spec, h.node.Deploy), AutomatedClean: new(machine.CleansAutomatically(h.spec, spec)),
	})
	return err
}

// markKey is the key of driver_info that says that Fairlead told Ironic the account of the BMC. Its value
// says nothing of the account: by a checksum everybody who may read nodes could try passwords. Earlier
// versions wrote one, which stays until the account is set again.
const markKey, marked = "fairlead_account", "told"

// An account is the password that Ironic has of a BMC, as far as a process knows.
type account struct {
	sum  [sha256.Size]byte
	told bool // by this process; else it is what Git had at the first look
}

func accountOf(info map[string]any, told bool) account {
	hidden := maps.Clone(info)
	maps.DeleteFunc(hidden, func(key string, _ any) bool { return !isHidden(key) })
	text, _ := json.Marshal(hidden) // texts have a form in JSON
	return account{sha256.Sum256(text), told}
}

// isHidden reports whether Ironic does not show the value of a key of driver_info.
func isHidden(key string) bool { return strings.Contains(key, "password") }

// knows reports whether Ironic has info of n, as far as can be seen. It shows all but passwords: of
// those it has what this process told it, or found in Git at its first look, unless the BMC refuses that.
func (p *Provider) knows(n *ironic.Node, info map[string]any, refused bool) bool {
	for key, want := range info {
		if key != markKey && !isHidden(key) && fmt.Sprint(want) != fmt.Sprint(n.DriverInfo[key]) {
			return false
		}
	}
	now := accountOf(info, false)
	have := p.told.NoteFirst(n.UUID, now)
	return have.sum == now.sum && (have.told || !refused)
}

// wanted returns driver_info and properties of h as Git has them.
func (p *Provider) wanted(ctx context.Context, o *observation, h *observedHost) (info, properties map[string]any, err error) {
	k := fleet.Key{Namespace: h.Namespace, Name: h.spec.BMC.CredentialsName}
	secret, err := p.secrets.Find(ctx, k, h.object.Secrets)
	if err != nil {
		return nil, nil, err
	}
	for _, key := range []string{api.UsernameKey, api.PasswordKey} {
		if len(secret[key].Reveal()) == 0 {
			return nil, nil, fleet.Errorf(fleet.Unauthorized, "read Secret "+k.String(), "it has no %s (write username and password of the BMC)", key)
		}
	}
	bmc, err := api.ParseBMC(h.spec.BMC.Address, !h.spec.BMC.DisableCertificateVerification)
	if err != nil {
		return nil, nil, fleet.Errorf(fleet.Invalid, "read BareMetalHost "+h.String(), "spec.bmc.address %w", err)
	}
	info = bmc.DriverInfo(string(secret[api.UsernameKey].Reveal()), string(secret[api.PasswordKey].Reveal()))
	for key, driver := range map[string]string{api.DeployISOKey: "deploy_iso", api.DeployKernelKey: "deploy_kernel", api.DeployRamdiskKey: "deploy_ramdisk"} {
		if v := secretText(o.secret, key); v != "" {
			info[driver] = v
		}
	}
	info[markKey] = marked
	if h.node == nil {
		info[enrolledKey] = time.Now().UTC().Format(time.RFC3339Nano)
	}
	if h.node == nil && h.spec.BootMACAddress != "" {
		info[macKey] = strings.ToLower(h.spec.BootMACAddress)
	}
	var found map[string]any
	if h.node != nil {
		found = h.node.Properties
		for key, value := range h.node.DriverInfo { // what others enrolled boots as they said
			if _, has := info[key]; !has && (key == machine.PreparationKey || key == macKey || key == enrolledKey || slices.Contains(bootKeys(), key)) {
				info[key] = value
			}
		}
	}
	properties = maps.Clone(found)
	if properties == nil {
		properties = make(map[string]any)
	}
	if h.node == nil || !h.findsRoot() {
		delete(properties, rootKey)
	}
	maps.Copy(properties, machine.Properties(h.spec, found))
	return info, properties, nil
}

// bootKeys are keys of driver_info that say how a host boots its ramdisk, which a host that others
// enrolled keeps where the Secret of Ironic does not say them.
// Source: baremetal-operator, pkg/provisioner/ironic.
func bootKeys() []string {
	return []string{"deploy_iso", "deploy_kernel", "deploy_ramdisk", "bootloader", "kernel_append_params", "force_persistent_boot_device", "external_http_url"}
}

func secretText(s fleet.SecretData, key string) string { return string(s[key].Reveal()) }

// outdated says what Ironic was told of h that Git says otherwise now; empty: nothing. The
// account is compared where Git has it, and where the BMC refused the one that Ironic has.
func (p *Provider) outdated(ctx context.Context, o *observation, h *observedHost) string {
	n := h.node
	if n == nil || h.object == nil || n.Locked || underWay(n) || h.declared.Paused || h.declared.Moved+h.declared.Shared != "" {
		return ""
	}
	k := fleet.Key{Namespace: h.Namespace, Name: h.spec.BMC.CredentialsName}
	refused := fleet.KindOf(n.Failure()) == fleet.Unauthorized
	if _, git := h.object.Secrets[k]; !git && !h.moves && !refused {
		return ""
	}
	info, _, err := p.wanted(ctx, o, h)
	if err != nil {
		return "" // the machine that needs it reports it
	}
	// Where others enrolled it, its BMC takes the account that they gave until it refuses.
	ours := n.DriverInfo[markKey] != nil || !o.isForeign(h)
	if !p.knows(n, info, refused) && (ours || h.moves || refused) {
		return "tell Ironic how its BMC is reached now"
	}
	if n.Instance == "" && !sameProperties(machine.Properties(h.spec, n.Properties), n.Properties, h.findsRoot()) {
		return "tell Ironic which disk and firmware it has now"
	}
	return ""
}

// words returns the words of a list with commas, sorted.
func words(list any) []string {
	text, _ := list.(string)
	return slices.Sorted(strings.SplitSeq(text, ","))
}

// rootKey is the property that says which disk an image is written to.
const rootKey = "root_device"

// findsRoot reports whether Ironic itself says which disk of h an image is written to: the volume that
// it made, which is there still if Git no longer has volumes.
// Source: Ironic, common/raid.py, update_raid_info.
func (h *observedHost) findsRoot() bool {
	if r := h.spec.RAID; r != nil && (r.HardwareRAIDVolumes != nil || r.SoftwareRAIDVolumes != nil) {
		return h.spec.RootDeviceHints == nil && len(r.HardwareRAIDVolumes)+len(r.SoftwareRAIDVolumes) > 0
	}
	return h.spec.RootDeviceHints == nil && machine.ReadPreparation(h.node.DriverInfo).Disks != ""
}

// sameProperties reports whether have is what is wanted, but for what Ironic found: by inspection, and
// where findsRoot is true the root device.
func sameProperties(want, have map[string]any, findsRoot bool) bool {
	const root, capabilities = rootKey, "capabilities"
	for key, v := range want {
		if key != root && key != capabilities && v != have[key] {
			return false
		}
	}
	if !slices.Equal(words(want[capabilities]), words(have[capabilities])) {
		return false
	}
	if findsRoot {
		return true
	}
	if want[root] == nil || have[root] == nil {
		return want[root] == nil && have[root] == nil
	}
	a, _ := json.Marshal(want[root]) // both are, or are to be, JSON
	b, _ := json.Marshal(have[root])
	return string(a) == string(b)
}
