package azure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// A wantedPool is what Git says of an agent pool.
type wantedPool struct {
	m     *managed
	pool  fleet.KeptPool
	spec  *api.AzureManagedMachinePoolSpec
	fixed map[string]any // properties that AKS changes of no pool
}

// wantedPool returns what Git says of the agent pool of p.
// Source: AKS REST API, Agent Pools, Create Or Update.
func (m *managed) wantedPool(p fleet.KeptPool) (*wantedPool, error) {
	spec, err := api.ReadPool(p.Infrastructure)
	if err != nil {
		return nil, err
	}
	subnet, err := m.subnetID(spec.SubnetName)
	if err != nil {
		return nil, err
	}
	f := map[string]any{"vmSize": spec.SKU, "osType": spec.OSType, "osDiskType": spec.OSDiskType, "vnetSubnetID": subnet, "type": "VirtualMachineScaleSets", "scaleSetPriority": spec.ScaleSetPriority}
	for name, v := range map[string]*bool{
		"enableEncryptionAtHost": spec.EnableEncryptionAtHost, "enableFIPS": spec.EnableFIPS, "enableNodePublicIP": spec.EnableNodePublicIP, "enableUltraSSD": spec.EnableUltraSSD,
	} {
		if v != nil {
			f[name] = *v
		}
	}
	if n := spec.OSDiskSizeGB; n != nil && *n > 0 { // 0 is the default of AKS
		f["osDiskSizeGB"] = *n
	}
	if spec.MaxPods != nil {
		f["maxPods"] = *spec.MaxPods
	}
	zones := spec.AvailabilityZones
	if len(zones) == 0 {
		zones = p.FailureDomains
	}
	if len(zones) > 0 {
		f["availabilityZones"] = zones
	}
	if spec.NodePublicIPPrefixID != "" {
		f["nodePublicIPPrefixID"] = spec.NodePublicIPPrefixID
	}
	if spec.KubeletDiskType != "" {
		f["kubeletDiskType"] = spec.KubeletDiskType
	}
	if spec.KubeletConfig != nil { // Azure names its fields as CAPZ does
		f["kubeletConfig"] = spec.KubeletConfig
	}
	if spec.LinuxOSConfig != nil {
		f["linuxOSConfig"] = renamed(plain(spec.LinuxOSConfig), func(s string) string {
			return strings.ReplaceAll(strings.ReplaceAll(s, "TCP", "Tcp"), "IPLocal", "IpLocal")
		})
	}
	if spec.SpotMaxPrice != nil {
		f["spotMaxPrice"] = spec.SpotMaxPrice.AsApproximateFloat64()
	}
	return &wantedPool{m: m, pool: p, spec: spec, fixed: plain(f)}, nil
}

// version returns that of the pool as AKS writes it.
func (w *wantedPool) version() string { return strings.TrimPrefix(w.pool.Version, "v") }

// labels returns those of Nodes that Git has, and those that AKS sets.
func (w *wantedPool) labels(is map[string]any) map[string]any {
	out := make(map[string]any)
	for k, v := range is {
		if strings.HasPrefix(k, api.AKSLabels) {
			out[k] = v
		}
	}
	for _, more := range []map[string]string{w.spec.NodeLabels, w.pool.NodeLabels} {
		for k, v := range more {
			out[k] = v
		}
	}
	return out
}

// taints returns those of Nodes that Git has, and those that AKS sets, sorted.
func (w *wantedPool) taints(is []string) []string {
	out := slices.DeleteFunc(append([]string{}, is...), func(t string) bool { return !strings.HasPrefix(t, api.AKSLabels) }) // null is no list
	for _, t := range w.spec.Taints {
		out = append(out, t.Key+"="+t.Value+":"+t.Effect)
	}
	for _, t := range w.pool.Taints {
		out = append(out, t.Key+"="+t.Value+":"+string(t.Effect))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// tags returns those of the pool, made by op.
func (w *wantedPool) tags(op fleet.OperationID) arm.Tags {
	return tagsFor(w.m.c.PoolTags(w.pool.Name, op), w.m.spec.AdditionalTags, w.spec.AdditionalTags)
}

// scale writes the number of machines, or its range, into the properties of a pool. What an autoscaler decides is written
// only if it is out of the range.
func (w *wantedPool) scale(p map[string]any, count int, isNew bool) {
	r := w.pool.Range
	if r == nil {
		readOnly(p, "minCount", "maxCount")
		p["enableAutoScaling"], p["count"] = false, w.pool.Count
		return
	}
	high := max(r.Max, 1) // AKS takes no maximum of 0
	p["enableAutoScaling"], p["minCount"], p["maxCount"] = true, r.Min, high
	delete(p, "count")
	if bounded := max(min(count, high), r.Min); isNew || bounded != count {
		p["count"] = bounded
	}
}

// create returns the properties of a new pool, made by op.
func (w *wantedPool) create(op fleet.OperationID) map[string]any {
	p := maps.Clone(w.fixed)
	p["mode"], p["scaleDownMode"], p["orchestratorVersion"] = w.spec.Mode, w.spec.ScaleDownMode, w.version()
	p["tags"] = w.tags(op)
	if l := w.labels(nil); len(l) > 0 {
		p["nodeLabels"] = l
	}
	if t := w.taints(nil); len(t) > 0 {
		p["nodeTaints"] = t
	}
	w.scale(p, w.pool.Count, true)
	return p
}

// A poolDiff says in what an agent pool differs from Git.
type poolDiff struct {
	config  []string // what of labels, taints, tags, mode
	number  bool     // its number of machines, or who decides that
	upgrade bool     // its version
	failed  bool     // the last change of it failed
	drift   []string // beside count, range and version
	fixed   []string

	values    map[string]setting // what Git says, by what of config differs
	overruled []string           // what AKS took, and something else changed back
}

// A setting is a value that Git says, and how it is written into the properties of an agent pool.
type setting struct {
	want  any
	write func(p map[string]any)
}

// compare says in what an agent pool that is there differs from Git.
func (w *wantedPool) compare(is *agentPool) poolDiff {
	var d poolDiff
	p, raw := &is.is.Properties, propertiesIn(is.raw)
	d.values = make(map[string]setting)
	note := func(what, field string, want, value any) {
		d.config, d.values[what] = append(d.config, what), setting{want, func(p map[string]any) { p[field] = value }}
	}
	labels, _ := raw["nodeLabels"].(map[string]any)
	if want := w.labels(labels); !maps.Equal(cmpMap(labels), want) {
		note("labels of its nodes differ", "nodeLabels", want, want)
	}
	taints := textsOf(raw["nodeTaints"])
	if want := w.taints(taints); !slices.Equal(normalTaints(taints), normalTaints(want)) {
		note("taints of its nodes differ", "nodeTaints", want, want)
	}
	if p.Mode != w.spec.Mode {
		note(fmt.Sprintf("mode %s → %s", p.Mode, w.spec.Mode), "mode", w.spec.Mode, w.spec.Mode)
	}
	if !same(raw["scaleDownMode"], w.spec.ScaleDownMode) && !(raw["scaleDownMode"] == nil && w.spec.ScaleDownMode == "Delete") {
		note(fmt.Sprintf("scaleDownMode %v → %s", raw["scaleDownMode"], w.spec.ScaleDownMode), "scaleDownMode", w.spec.ScaleDownMode, w.spec.ScaleDownMode)
	}
	if lack := lacking(p.Tags, w.tags("")); len(lack) > 0 {
		note("tags differ: "+strings.Join(slices.Sorted(maps.Keys(lack)), ", "), "tags", lack, tagsFor(nil, p.Tags, lack))
	}
	w.leaveOverruled(&d, is)
	d.drift = slices.Clone(d.config)
	if r := w.pool.Range; r == nil {
		d.number = p.AutoScaling || p.Count != w.pool.Count
	} else {
		high := max(r.Max, 1)
		d.number = !p.AutoScaling || p.MinCount != r.Min || p.MaxCount != high || p.Count < r.Min || p.Count > high
	}
	order, _ := fleet.CompareKubernetes(w.pool.Version, "v"+cmp.Or(p.Version, p.Orchestrator))
	d.upgrade = order > 0
	if d.failed = p.Provisioning == failed || p.Provisioning == canceled; d.failed {
		d.drift = append(d.drift, "the last change of it failed, and is asked for again")
	}
	d.fixed = w.differ(raw)
	slices.Sort(d.drift)
	return d
}

func textsOf(v any) []string {
	var out []string
	list, _ := v.([]any)
	for _, x := range list {
		out = append(out, fmt.Sprint(x))
	}
	return out
}

// normalTaints returns taints in one form: one without a value has an equals sign, or none.
func normalTaints(list []string) []string {
	var out []string
	for _, t := range list {
		out = append(out, strings.Replace(t, "=:", ":", 1))
	}
	slices.Sort(out)
	return out
}

// differ says what Git asks for and AKS changes of no agent pool.
func (w *wantedPool) differ(raw map[string]any) []string {
	const other = "; an agent pool keeps what it has: use a MachinePool and an AzureManagedMachinePool with other names, and remove this one"
	defaults := map[string]any{"osType": "Linux", "osDiskType": "Managed", "scaleSetPriority": "Regular", "type": "VirtualMachineScaleSets"}
	names := map[string]string{"vmSize": "sku", "vnetSubnetID": "subnetName"}
	var out []string
	for _, d := range differences(raw, w.fixed) {
		field := strings.Join(d.path, ".")
		if d.is == nil && same(defaults[field], d.want) {
			continue
		}
		is, want := d.is, d.want
		if field == "vnetSubnetID" {
			is, want = lastOf(fmt.Sprint(is)), lastOf(fmt.Sprint(want))
		}
		out = append(out, fmt.Sprintf("%s %v → %v%s", cmp.Or(names[field], field), cmp.Or[any](is, "none"), want, other))
	}
	slices.Sort(out)
	return out
}

func lastOf(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// none reports whether there is nothing to do.
func (d poolDiff) none() bool { return len(d.config) == 0 && !d.number && !d.upgrade && !d.failed }
