package azuretest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of AKS, and of what it makes in its own resource group.
const (
	managedKind  = "managedclusters"
	poolKind     = "agentpools"
	scaleSetKind = "virtualmachinescalesets"
)

// versions are those of Kubernetes that AKS makes clusters of.
func versions() []string {
	return []string{"1.32.9", "1.33.4", "1.33.5", "1.34.0", "1.34.1", "1.35.0"}
}

var (
	clusterName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$`)
	poolName    = regexp.MustCompile(`^[a-z][a-z0-9]{0,11}$`)
)

// minorOf returns the minor version of 1.34.1.
func minorOf(version any) int {
	parts := strings.Split(fmt.Sprint(version), ".")
	if len(parts) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(parts[1])
	return n
}

// older reports whether a is an older version than b.
func older(a, b any) bool {
	return slices.Index(versions(), fmt.Sprint(a)) < slices.Index(versions(), fmt.Sprint(b))
}

// FailManaged has the next operations of AKS end in the state Failed.
func (c *Cloud) FailManaged(times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failingAKS = times
}

// RotateCredentials gives the admins of a cluster of AKS another certificate.
func (c *Cloud) RotateCredentials() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.certificates++
}

// poolsOf returns the agent pools of a cluster, sorted.
func (c *Cloud) poolsOf(cluster string) []*resource {
	var out []*resource
	for _, k := range slices.Sorted(maps.Keys(c.res)) {
		if r := c.res[k]; r.kind == poolKind && strings.HasPrefix(k, strings.ToLower(cluster)+"/") {
			out = append(out, r)
		}
	}
	return out
}

// busyAKS reports whether an operation goes on in a cluster, and refuses another one then.
func (c *Cloud) busyAKS(w http.ResponseWriter, cluster *resource) bool {
	busy := cluster.then != nil
	for _, p := range c.poolsOf(cluster.id) {
		busy = busy || p.then != nil
	}
	if busy {
		refuse(w, http.StatusConflict, "OperationNotAllowed", "Operation is not allowed because there's an in progress update managed cluster operation on the managed cluster.")
	}
	return busy
}

// stoppedAKS reports whether a cluster is stopped, and refuses an operation then: it can be started or deleted.
func stoppedAKS(w http.ResponseWriter, cluster *resource) bool {
	if objectOf(properties(cluster.body)["powerState"])["code"] != "Stopped" {
		return false
	}
	refuse(w, http.StatusBadRequest, "OperationNotAllowed", "Managed cluster is in stopped state, no operations except for start and delete are allowed.")
	return true
}

// endOf returns what an operation of AKS ends with.
func (c *Cloud) endOf(r *resource, done func(), fail ...func()) func() {
	fails := c.failingAKS > 0
	if fails {
		c.failingAKS--
	}
	return func() {
		if fails {
			properties(r.body)["provisioningState"] = "Failed"
			c.stamp(r)
			for _, do := range fail {
				do()
			}
			return
		}
		done()
		c.succeed(r)()
	}
}

// putManaged makes a cluster of AKS with its agent pools, or replaces it.
func (c *Cloud) putManaged(w http.ResponseWriter, id string, body object, r *resource) {
	body = clone(body)
	p := properties(body)
	normal(p)
	profiles := profilesOf(body)
	version := fmt.Sprint(p["kubernetesVersion"])
	switch {
	case !clusterName.MatchString(nameOf(id)):
		refuse(w, http.StatusBadRequest, "InvalidParameter", "The name of the managed cluster is not valid.")
		return
	case !slices.Contains(versions(), version):
		refuse(w, http.StatusBadRequest, "K8sVersionNotSupported", "Managed cluster is on version "+version+", which is not supported in this region.")
		return
	}
	if r == nil {
		c.createManaged(w, id, body, profiles)
		return
	}
	if stoppedAKS(w, r) || c.busyAKS(w, r) {
		return
	}
	was := properties(r.body)
	switch step := minorOf(version) - minorOf(was["kubernetesVersion"]); {
	case step > 1:
		refuse(w, http.StatusBadRequest, "OperationNotAllowed", "Upgrading Kubernetes version from "+fmt.Sprint(was["kubernetesVersion"])+" to "+version+" is not allowed: minor versions are not skipped.")
		return
	case older(version, was["kubernetesVersion"]):
		refuse(w, http.StatusBadRequest, "OperationNotAllowed", "Downgrading the managed cluster is not allowed.")
		return
	}
	for _, f := range []string{"dnsPrefix", "nodeResourceGroup"} {
		if p[f] != nil && p[f] != was[f] {
			refuse(w, http.StatusBadRequest, "PropertyChangeNotAllowed", "Changing property '"+f+"' is not allowed.")
			return
		}
	}
	if changed(was["networkProfile"], p["networkProfile"], "networkPlugin", "serviceCidr", "dnsServiceIP", "podCidr") {
		refuse(w, http.StatusBadRequest, "PropertyChangeNotAllowed", "Changing property 'networkProfile' is not allowed.")
		return
	}
	var then []func()
	for _, pool := range c.poolsOf(r.id) {
		i := slices.IndexFunc(profiles, func(o object) bool { return o["name"] == nameOf(pool.id) })
		if i < 0 {
			refuse(w, http.StatusBadRequest, "InvalidParameter", "Agent pool "+nameOf(pool.id)+" is missing in agentPoolProfiles.")
			return
		}
		next := maps.Clone(profiles[i])
		if next["orchestratorVersion"] == nil { // it goes along
			next["orchestratorVersion"] = version
		}
		if why, code := c.badPool(nameOf(pool.id), version, next, properties(pool.body)); why != "" {
			refuse(w, http.StatusBadRequest, code, why)
			return
		}
		then = append(then, func() { c.changePool(pool, next) })
	}
	next := clone(body)
	np := properties(next)
	for _, f := range []string{"fqdn", "privateFQDN", "nodeResourceGroup", "dnsPrefix", "currentKubernetesVersion", "powerState", "enableRBAC"} {
		if was[f] != nil {
			np[f] = was[f]
		}
	}
	delete(np, "agentPoolProfiles")
	for _, f := range []string{"id", "name", "location"} {
		next[f] = r.body[f]
	}
	np["kubernetesVersion"] = was["kubernetesVersion"]
	r.body = next
	c.stamp(r)
	c.begin(r, "Updating", c.o.Managed, c.endOf(r, func() {
		np["kubernetesVersion"], np["currentKubernetesVersion"] = version, version
		for _, do := range then {
			do()
		}
	}))
	c.accept(w, http.StatusOK, r)
}

// normal writes what a PUT says as AKS shows it: ranges with a mask, and no configuration of an add-on that is off.
func normal(p object) {
	access := objectOf(p["apiServerAccessProfile"])
	if ranges := listOf(access["authorizedIPRanges"]); len(ranges) > 0 {
		for i, r := range ranges {
			if a, err := netip.ParseAddr(fmt.Sprint(r)); err == nil {
				r = netip.PrefixFrom(a, a.BitLen()).String()
			}
			if p, err := netip.ParsePrefix(fmt.Sprint(r)); err == nil {
				r = p.Masked().String()
			}
			ranges[i] = r
		}
		access["authorizedIPRanges"] = ranges
	}
	for _, a := range objectOf(p["addonProfiles"]) {
		if addon := objectOf(a); addon["enabled"] != true {
			delete(addon, "config")
		}
	}
}

// changed reports whether an object has another value of a field.
func changed(was, is any, fields ...string) bool {
	a, _ := was.(object)
	b, _ := is.(object)
	return slices.ContainsFunc(fields, func(f string) bool { return b[f] != nil && a[f] != nil && b[f] != a[f] })
}

func profilesOf(body object) []object {
	list, _ := properties(body)["agentPoolProfiles"].([]any)
	var out []object
	for _, x := range list {
		if o, ok := x.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

func (c *Cloud) createManaged(w http.ResponseWriter, id string, body object, profiles []object) {
	p := properties(body)
	if !slices.ContainsFunc(profiles, func(o object) bool { return o["mode"] == "System" }) {
		refuse(w, http.StatusBadRequest, "InvalidParameter", "There has to be at least one system agent pool.")
		return
	}
	for _, o := range profiles {
		if o["orchestratorVersion"] == nil {
			o["orchestratorVersion"] = p["kubernetesVersion"]
		}
		if why, code := c.badPool(fmt.Sprint(o["name"]), p["kubernetesVersion"], o, nil); why != "" {
			refuse(w, http.StatusBadRequest, code, why)
			return
		}
	}
	if why, code := c.missing(id, body); why != "" {
		refuse(w, http.StatusBadRequest, code, why)
		return
	}
	if p["nodeResourceGroup"] == nil {
		p["nodeResourceGroup"] = "MC_" + strings.Split(id, "/")[4] + "_" + nameOf(id) + "_" + fmt.Sprint(body["location"])
	}
	c.n++
	host := fmt.Sprintf("%v-%08d.hcp.%v.azmk8s.io", p["dnsPrefix"], c.n, body["location"])
	access, _ := p["apiServerAccessProfile"].(object)
	if p["fqdn"] = host; access["enablePrivateCluster"] == true {
		p["privateFQDN"] = strings.Replace(host, ".hcp.", ".privatelink.", 1)
		delete(p, "fqdn")
	}
	p["powerState"] = object{"code": "Running"}
	network, _ := p["networkProfile"].(object)
	if network == nil {
		network = object{}
		p["networkProfile"] = network
	}
	for k, v := range map[string]any{"serviceCidr": "10.0.0.0/16", "dnsServiceIP": "10.0.0.10", "outboundType": "loadBalancer"} {
		if network[k] == nil {
			network[k] = v
		}
	}
	delete(p, "agentPoolProfiles")
	r := &resource{id: id, kind: managedKind, body: body, made: time.Now()}
	body["id"], body["name"] = id, nameOf(id)
	c.res[strings.ToLower(id)] = r
	c.stamp(r)
	group := c.store(c.nodeGroup(r), object{"location": body["location"], "tags": body["tags"], "managedBy": id})
	group.made = time.Now()
	var pools []*resource
	for _, o := range profiles {
		pools = append(pools, c.addPool(id+"/agentPools/"+fmt.Sprint(o["name"]), o))
	}
	c.begin(r, "Creating", c.o.Managed, c.endOf(r, func() {
		p["currentKubernetesVersion"] = p["kubernetesVersion"]
		for _, pool := range pools {
			c.staff(pool, false)
			c.succeed(pool)()
		}
	}, func() {
		for _, pool := range pools {
			properties(pool.body)["provisioningState"] = "Failed"
		}
	}))
	c.accept(w, http.StatusCreated, r)
}

// nodeGroup returns the id of the resource group that AKS makes for the machines of a cluster.
func (c *Cloud) nodeGroup(cluster *resource) string {
	return strings.Join(strings.Split(cluster.id, "/")[:4], "/") + "/" + fmt.Sprint(properties(cluster.body)["nodeResourceGroup"])
}

// addPool makes an agent pool from its profile.
func (c *Cloud) addPool(id string, profile object) *resource {
	p := maps.Clone(profile)
	delete(p, "name")
	for k, v := range map[string]any{"osDiskSizeGB": 128, "maxPods": 30, "osType": "Linux", "scaleDownMode": "Delete", "upgradeSettings": object{"maxSurge": "10%"}} {
		if p[k] == nil {
			p[k] = v
		}
	}
	if p["scaleSetPriority"] == "Spot" { // AKS marks them
		p["nodeTaints"] = append(listOf(p["nodeTaints"]), "kubernetes.azure.com/scalesetpriority=spot:NoSchedule")
		labels, _ := p["nodeLabels"].(object)
		labels = maps.Clone(labels)
		if labels == nil {
			labels = object{}
		}
		labels["kubernetes.azure.com/scalesetpriority"] = "spot"
		p["nodeLabels"] = labels
	}
	p["powerState"] = object{"code": "Running"}
	r := &resource{id: id, kind: poolKind, body: object{"id": id, "name": nameOf(id), "properties": p}, made: time.Now()}
	p["provisioningState"] = "Creating"
	c.res[strings.ToLower(id)] = r
	c.stamp(r)
	return r
}

func listOf(v any) []any { out, _ := v.([]any); return slices.Clone(out) }

// badPool says what of an agent pool AKS refuses.
func (c *Cloud) badPool(name string, plane any, p, was object) (why, code string) {
	const invalid, fixed = "InvalidParameter", "PropertyChangeNotAllowed"
	count, low, high := number(p["count"]), number(p["minCount"]), number(p["maxCount"])
	switch {
	case !poolName.MatchString(name):
		return "The name of the agent pool is not valid: " + name, invalid
	case !slices.Contains(c.sizes, fmt.Sprint(p["vmSize"])):
		return fmt.Sprintf("The VM size of %v is not allowed in your subscription in location '%s'.", p["vmSize"], Location), invalid
	case !slices.Contains(versions(), fmt.Sprint(p["orchestratorVersion"])):
		return fmt.Sprintf("Version %v is not supported in this region.", p["orchestratorVersion"]), "K8sVersionNotSupported"
	case older(plane, p["orchestratorVersion"]):
		return fmt.Sprintf("Node pool version %v and control plane version %v are incompatible.", p["orchestratorVersion"], plane), "NodePoolMcVersionIncompatible"
	case p["enableAutoScaling"] == true && (low < 0 || high < 1 || low > high || p["count"] != nil && (count < low || count > high)):
		return fmt.Sprintf("minCount %d, count %d and maxCount %d do not fit.", low, count, high), invalid
	case p["enableAutoScaling"] != true && (p["minCount"] != nil || p["maxCount"] != nil):
		return "minCount and maxCount need enableAutoScaling.", invalid
	case p["mode"] == "System" && p["enableAutoScaling"] != true && p["count"] != nil && count < 1:
		return "A system pool has a node at least.", invalid
	}
	for k := range objectOf(p["nodeLabels"]) {
		if strings.HasPrefix(k, "kubernetes.azure.com/") && objectOf(was["nodeLabels"])[k] == nil && was != nil {
			return "Label " + k + " is reserved.", invalid
		}
	}
	if was == nil {
		return "", ""
	}
	if older(p["orchestratorVersion"], was["orchestratorVersion"]) {
		return "Downgrading the agent pool is not allowed.", "OperationNotAllowed"
	}
	for _, f := range []string{"vmSize", "vnetSubnetID", "osDiskSizeGB", "osDiskType", "maxPods", "osType", "availabilityZones", "scaleSetPriority", "enableFIPS"} {
		if p[f] != nil && !reflect.DeepEqual(clone(object{"v": p[f]}), clone(object{"v": was[f]})) {
			return "Changing property 'properties." + f + "' is not allowed.", fixed
		}
	}
	return "", ""
}

func objectOf(v any) object { o, _ := v.(object); return o }

func number(v any) int {
	switch v := v.(type) {
	case float64:
		return int(v)
	case int:
		return v
	}
	return 0
}

// changePool takes over what a PUT says of a pool. A number that it leaves out stays.
func (c *Cloud) changePool(pool *resource, next object) {
	was := properties(pool.body)
	p := clone(next)
	for _, f := range []string{"name", "id", "eTag", "provisioningState", "currentOrchestratorVersion"} {
		delete(p, f)
	}
	if p["count"] == nil {
		p["count"] = was["count"]
	}
	if p["enableAutoScaling"] == true {
		p["count"] = max(min(number(p["count"]), number(p["maxCount"])), number(p["minCount"]))
	}
	p["provisioningState"] = "Succeeded"
	upgraded := p["orchestratorVersion"] != was["orchestratorVersion"]
	pool.body["properties"] = p
	c.stamp(pool)
	c.staff(pool, upgraded)
}

// putPool makes an agent pool, or changes it.
func (c *Cloud) putPool(w http.ResponseWriter, id string, body object, r *resource) {
	cluster := c.res[strings.ToLower(id[:strings.LastIndex(strings.ToLower(id), "/agentpools/")])]
	if cluster == nil {
		refuse(w, http.StatusNotFound, "ParentResourceNotFound", "Can not perform requested operation on nested resource. Parent resource not found.")
		return
	}
	if c.busyAKS(w, cluster) {
		return
	}
	if stoppedAKS(w, cluster) {
		return
	}
	body = clone(body)
	p, was := properties(body), object(nil)
	if r != nil {
		was = properties(r.body)
		if was["mode"] == "System" && p["mode"] != "System" && c.lastSystem(r) {
			refuse(w, http.StatusBadRequest, "OperationNotAllowed", "There has to be at least one system agent pool.")
			return
		}
	}
	plane := properties(cluster.body)["kubernetesVersion"]
	if p["orchestratorVersion"] == nil {
		p["orchestratorVersion"] = plane
		if was != nil {
			p["orchestratorVersion"] = was["orchestratorVersion"]
		}
	}
	if why, code := c.badPool(nameOf(id), plane, p, was); why != "" {
		refuse(w, http.StatusBadRequest, code, why)
		return
	}
	if why, code := c.missing(id, body); why != "" {
		refuse(w, http.StatusBadRequest, code, why)
		return
	}
	if r == nil {
		r = c.addPool(id, p)
		c.begin(r, "Creating", c.o.Managed, c.endOf(r, func() { c.staff(r, false) }))
		c.accept(w, http.StatusCreated, r)
		return
	}
	state := "Updating"
	if p["orchestratorVersion"] != was["orchestratorVersion"] {
		state = "Upgrading"
	}
	c.begin(r, state, c.o.Managed, c.endOf(r, func() { c.changePool(r, p) }))
	c.accept(w, http.StatusOK, r)
}

// lastSystem reports whether a pool is the only System pool of its cluster.
func (c *Cloud) lastSystem(pool *resource) bool {
	cluster := pool.id[:strings.LastIndex(strings.ToLower(pool.id), "/agentpools/")]
	return properties(pool.body)["mode"] == "System" && !slices.ContainsFunc(c.poolsOf(cluster), func(o *resource) bool {
		return o != pool && properties(o.body)["mode"] == "System" && o.state() != "Deleting"
	})
}

// staff has a pool have its number of machines; others than before, if it was upgraded.
func (c *Cloud) staff(pool *resource, upgraded bool) {
	cluster := c.res[strings.ToLower(pool.id[:strings.LastIndex(strings.ToLower(pool.id), "/agentpools/")])]
	p := properties(pool.body)
	p["currentOrchestratorVersion"] = p["orchestratorVersion"]
	id := c.nodeGroup(cluster) + "/providers/Microsoft.Compute/virtualMachineScaleSets/aks-" + nameOf(pool.id) + "-1-vmss"
	set := c.res[strings.ToLower(id)]
	if set == nil {
		set = c.store(id, object{"location": cluster.body["location"], "properties": object{"timeCreated": time.Now().UTC().Format(time.RFC3339Nano)}})
	}
	tags := maps.Clone(objectOf(cluster.body["tags"])) // AKS gives what it makes the tags of the cluster
	if tags == nil {
		tags = object{}
	}
	maps.Copy(tags, objectOf(p["tags"]))
	tags["aks-managed-poolName"] = nameOf(pool.id)
	set.body["tags"] = tags
	if upgraded {
		set.instances = nil
	}
	for len(set.instances) < number(p["count"]) {
		c.n++
		set.instances = append(set.instances, fmt.Sprint(c.n))
	}
	set.instances = set.instances[:number(p["count"])]
}

// goneManaged takes away what goes with a cluster or a pool.
func (c *Cloud) goneManaged(r *resource) {
	if r.kind == managedKind {
		if group := c.res[strings.ToLower(c.nodeGroup(r))]; group != nil {
			c.gone(group)
		}
		return
	}
	cluster := c.res[strings.ToLower(r.id[:strings.LastIndex(strings.ToLower(r.id), "/agentpools/")])]
	if cluster != nil {
		delete(c.res, strings.ToLower(c.nodeGroup(cluster)+"/providers/Microsoft.Compute/virtualMachineScaleSets/aks-"+nameOf(r.id)+"-1-vmss"))
	}
}

// removeManaged begins the deletion of a cluster or a pool.
func (c *Cloud) removeManaged(w http.ResponseWriter, r *resource) {
	cluster := r
	if r.kind == poolKind {
		cluster = c.res[strings.ToLower(r.id[:strings.LastIndex(strings.ToLower(r.id), "/agentpools/")])]
		if c.lastSystem(r) {
			refuse(w, http.StatusBadRequest, "OperationNotAllowed", "There has to be at least one system agent pool.")
			return
		}
	}
	if r.kind == poolKind && stoppedAKS(w, cluster) || c.busyAKS(w, cluster) {
		return
	}
	c.begin(r, "Deleting", c.o.Managed, func() { c.gone(r) })
	c.accept(w, http.StatusAccepted, r)
}

// shownManaged adds to a cluster its agent pools.
func (c *Cloud) shownManaged(r *resource, out object) {
	profiles := []any{}
	for _, p := range c.poolsOf(r.id) {
		o := clone(properties(p.body))
		o["name"] = nameOf(p.id)
		profiles = append(profiles, o)
	}
	properties(out)["agentPoolProfiles"] = profiles
}

// credential answers with the kubeconfig of admins.
func (c *Cloud) credential(w http.ResponseWriter, q *http.Request) {
	id := strings.ToLower(strings.TrimSuffix(q.URL.Path, "/"))
	r := c.res[id[:strings.LastIndexByte(id, '/')]]
	switch {
	case r == nil:
		refuse(w, http.StatusNotFound, "ResourceNotFound", "The Resource under resource group was not found.")
		return
	case q.Method != http.MethodPost:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "")
		return
	case properties(r.body)["disableLocalAccounts"] == true:
		refuse(w, http.StatusBadRequest, "BadRequest", "Getting static credential is not allowed because this cluster is set to disable local accounts.")
		return
	case properties(r.body)["currentKubernetesVersion"] == nil:
		refuse(w, http.StatusBadRequest, "BadRequest", "Control plane is not ready to provide cluster credentials.")
		return
	}
	p := properties(r.body)
	host := p["fqdn"]
	if host == nil {
		host = p["privateFQDN"]
	}
	encoded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: %[1]s-admin
clusters:
- name: %[1]s
  cluster: {server: "https://%[2]v:443", certificate-authority-data: %[3]s}
users:
- name: clusterAdmin
  user: {client-certificate-data: %[4]s, client-key-data: %[5]s, token: a-token-of-the-double}
contexts:
- name: %[1]s-admin
  context: {cluster: %[1]s, user: clusterAdmin}
`, nameOf(r.id), host, encoded("CA of "+nameOf(r.id)), encoded(fmt.Sprint("certificate ", c.certificates)), encoded(fmt.Sprint("key ", c.certificates)))
	reply(w, http.StatusOK, object{"kubeconfigs": []any{object{"name": "clusterAdmin", "value": encoded(text)}}})
}

// listInstances answers with the machines of a scale set.
func (c *Cloud) listInstances(w http.ResponseWriter, set *resource) {
	list := []any{}
	for _, n := range set.instances {
		list = append(list, object{"id": set.id + "/virtualMachines/" + n, "name": nameOf(set.id) + "_" + n, "instanceId": n, "properties": object{"provisioningState": "Succeeded"}})
	}
	reply(w, http.StatusOK, object{"value": list})
}
