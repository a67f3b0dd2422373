package awstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// group returns a node group by the names in the path.
func (c *Cloud) nodegroup(r request) (*Thing, error) {
	if _, err := c.cluster(r); err != nil {
		return nil, err
	}
	for _, t := range c.all(Nodegroups) {
		if t.Attr["cluster"] == r.Get("cluster") && t.Attr["name"] == r.Get("name") {
			return t, nil
		}
	}
	return nil, unfound("No node group found for name: %s.", r.Get("name"))
}

// idleGroup returns a node group that takes a change.
func (c *Cloud) idleGroup(r request) (*Thing, error) {
	t, err := c.nodegroup(r)
	if err == nil && t.Attr["status"] != active && t.Attr["status"] != "DEGRADED" {
		return nil, conflict("Nodegroup cannot be updated as it is currently not in Active State: %s", t.Attr["status"])
	}
	return t, err
}

func (c *Cloud) listNodegroups(r request) (any, error) {
	if _, err := c.cluster(r); err != nil {
		return nil, err
	}
	var names []string
	for _, t := range c.all(Nodegroups) {
		if t.Attr["cluster"] == r.Get("cluster") && time.Since(t.Made) >= c.o.Delays.Lag {
			names = append(names, t.Attr["name"])
		}
	}
	return c.namesIn(r, "nodegroups", names)
}

// releaseOf returns the image that EKS chooses for a version.
func releaseOf(version string) string { return version + ".2-20261101" }

// scaling takes over the bounds and the number in a request.
func scaling(attr map[string]string, in map[string]any) error {
	for _, f := range []string{"minSize", "maxSize", "desiredSize"} {
		if n, ok := in[f].(float64); ok {
			attr[f] = strconv.Itoa(int(n))
		}
	}
	low, _ := strconv.Atoi(attr["minSize"])
	high, _ := strconv.Atoi(attr["maxSize"])
	n, _ := strconv.Atoi(attr["desiredSize"])
	if low < 0 || high < 1 || low > n || n > high {
		return bad("InvalidParameterException", "Minimum capacity %d can't be greater than desired size %d, nor that than maximum capacity %d", low, n, high)
	}
	return nil
}

// reserved finds a label that EKS refuses.
func reserved(labels map[string]string) error {
	for k := range labels {
		for _, p := range []string{"kubernetes.io/", "k8s.io/", "eks.amazonaws.com/"} {
			if strings.HasPrefix(k, p) {
				return bad("InvalidParameterException", "Label cannot contain reserved prefixes [kubernetes.io/, k8s.io/, eks.amazonaws.com/]")
			}
		}
	}
	return nil
}

func (c *Cloud) createNodegroup(r request) (any, error) {
	k, err := c.cluster(r)
	if err != nil {
		return nil, err
	}
	name := field(r, "nodegroupName")
	r.Set("name", name)
	if _, err := c.nodegroup(r); err == nil {
		return nil, conflict("NodeGroup already exists with name %s and cluster name %s", name, k.Attr["name"])
	}
	version, labels := cmp.Or(field(r, "version"), k.Attr["version"]), tagsOf(r.body, "labels")
	if err := reserved(labels); err != nil {
		return nil, err
	}
	attr := map[string]string{
		"cluster": k.Attr["name"], "name": name, "version": version, "release": cmp.Or(field(r, "releaseVersion"), releaseOf(version)),
		"role": field(r, "nodeRole"), "image": cmp.Or(field(r, "amiType"), "AL2023_x86_64_STANDARD"), "market": cmp.Or(field(r, "capacityType"), "ON_DEMAND"),
		"diskSize": "20",
	}
	if n, ok := r.body["diskSize"].(float64); ok {
		attr["diskSize"] = strconv.Itoa(int(n))
	}
	switch {
	case k.Attr["status"] != active:
		return nil, bad("InvalidRequestException", "Cluster '%s' is not in ACTIVE status", k.Attr["name"])
	case !groupName.MatchString(name):
		return nil, bad("InvalidParameterException", "The name of the nodegroup is not valid: %s", name)
	case minorOf(version) > minorOf(k.Attr["version"]):
		return nil, bad("InvalidParameterException", "Nodegroup version %s is newer than that of the cluster, %s", version, k.Attr["version"])
	case strings.Contains(attr["role"], "missing"):
		return nil, bad("InvalidParameterException", "Following required service principals [ec2.amazonaws.com] were not found in the trust relationships of nodeRole %s", attr["role"])
	}
	for _, id := range words(r.body, "subnets") {
		if c.get(Subnets, id) == nil {
			return nil, bad("InvalidParameterException", "The subnet ID '%s' does not exist", id)
		}
	}
	if err := scaling(attr, mapping(r.body, "scalingConfig")); err != nil {
		return nil, err
	}
	if err := c.launched(r, attr, true); err != nil {
		return nil, err
	}
	taints, _ := r.body["taints"].([]any)
	seen := make(map[string]bool)
	for _, x := range taints {
		if seen[taintID(x)] {
			return nil, bad("InvalidParameterException", "There are two taints with key and effect %s", taintID(x))
		}
		seen[taintID(x)] = true
	}
	t := c.addNamed(Nodegroups, fmt.Sprintf("arn:aws:eks:%s:%s:nodegroup/%s/%s/%x", c.o.Region, c.o.Account, k.Attr["name"], name, c.n+1), attr, tagsOf(r.body, "tags"))
	t.put("labels", labels)
	t.put("taints", r.body["taints"])
	types := cmp.Or[any](r.body["instanceTypes"], []string{"t3.medium"})
	if attr["templateType"] != "" { // which is in the template alone
		types = nil
	}
	t.put("types", types)
	t.put("subnets", r.body["subnets"])
	t.put("remote", r.body["remoteAccess"])
	t.put("update", cmp.Or[any](r.body["updateConfig"], map[string]any{"maxUnavailable": 1}))
	t.put("repair", r.body["nodeRepairConfig"])
	then := map[string]string{}
	if c.failingGroups != "" {
		then["status"], then["issues"] = "CREATE_FAILED", string(encoded([]any{map[string]any{"code": "NodeCreationFailure", "message": c.failingGroups, "resourceIds": []string{"i-1"}}}))
	}
	t.begin(creating, c.o.Delays.Nodegroup, then)
	if t.Attr["cluster"] != "" && k.Attr["mode"] != "CONFIG_MAP" { // EKS lets in the role of a node group by itself
		c.letIn(k.Attr["name"], attr["role"])
	}
	return map[string]any{"nodegroup": c.shownGroup(t)}, nil
}

// taintID is what taints of a node group differ in.
func taintID(v any) string {
	m, _ := v.(map[string]any)
	return fmt.Sprint(m["key"], " ", m["effect"])
}

// letIn makes the entry of the role of a node group.
func (c *Cloud) letIn(cluster, role string) {
	for _, e := range c.all(AccessEntries) {
		if e.Attr["cluster"] == cluster && e.Attr["principal"] == role {
			return
		}
	}
	c.add(AccessEntries, map[string]string{"cluster": cluster, "principal": role, "type": "EC2_LINUX", "username": "system:node:{{EC2PrivateDNSName}}"}, nil)
}

func (c *Cloud) shownGroup(t *Thing) map[string]any {
	n := func(name string) int { i, _ := strconv.Atoi(t.Attr[name]); return i }
	return map[string]any{
		"nodegroupName": t.Attr["name"], "nodegroupArn": t.ID, "clusterName": t.Attr["cluster"], "version": t.Attr["version"], "releaseVersion": t.Attr["release"],
		"createdAt": float64(t.Made.UnixMilli()) / 1000, "status": t.Attr["status"], "capacityType": t.Attr["market"], "amiType": t.Attr["image"], "nodeRole": t.Attr["role"],
		"scalingConfig": map[string]any{"minSize": n("minSize"), "maxSize": n("maxSize"), "desiredSize": n("desiredSize")}, "diskSize": n("diskSize"),
		"instanceTypes": t.raw("types"), "subnets": t.raw("subnets"), "remoteAccess": t.raw("remote"), "labels": t.raw("labels"), "taints": t.raw("taints"),
		"updateConfig": t.raw("update"), "nodeRepairConfig": t.raw("repair"), "tags": t.Tags, "launchTemplate": c.shownRef(t),
		"health": map[string]any{"issues": json.RawMessage(cmp.Or(t.Attr["issues"], "[]"))},
	}
}

func (c *Cloud) describeNodegroup(r request) (any, error) {
	t, err := c.nodegroup(r)
	if err != nil {
		return nil, err
	}
	return map[string]any{"nodegroup": c.shownGroup(t)}, nil
}

func (c *Cloud) deleteNodegroup(r request) (any, error) {
	t, err := c.nodegroup(r)
	switch {
	case err != nil:
		return nil, err
	case t.Attr["status"] == creating || t.Attr["status"] == updating:
		return nil, conflict("Nodegroup cannot be deleted: it is %s", t.Attr["status"])
	case t.Attr["status"] != deleting:
		t.begin(deleting, c.o.Delays.Nodegroup, nil)
	}
	return map[string]any{"nodegroup": c.shownGroup(t)}, nil
}

func (c *Cloud) updateNodegroup(r request) (any, error) {
	t, err := c.idleGroup(r)
	if err != nil {
		return nil, err
	}
	then := map[string]string{"minSize": t.Attr["minSize"], "maxSize": t.Attr["maxSize"], "desiredSize": t.Attr["desiredSize"]}
	if in := mapping(r.body, "scalingConfig"); in != nil {
		if err := scaling(then, in); err != nil {
			return nil, err
		}
	}
	if in := mapping(r.body, "labels"); in != nil {
		labels := map[string]string{}
		_ = json.Unmarshal(t.raw("labels"), &labels)
		more := tagsOf(in, "addOrUpdateLabels")
		if err := reserved(more); err != nil {
			return nil, err
		}
		maps.Copy(labels, more)
		for _, k := range words(in, "removeLabels") {
			delete(labels, k)
		}
		then["labels"] = string(encoded(labels))
	}
	if in := mapping(r.body, "taints"); in != nil {
		var taints []any
		_ = json.Unmarshal(t.raw("taints"), &taints)
		add, _ := in["addOrUpdateTaints"].([]any)
		drop, _ := in["removeTaints"].([]any)
		for _, x := range append(slices.Clone(add), drop...) {
			taints = slices.DeleteFunc(taints, func(o any) bool { return taintID(o) == taintID(x) })
		}
		then["taints"] = string(encoded(append(taints, add...)))
	}
	for body, attr := range map[string]string{"updateConfig": "update", "nodeRepairConfig": "repair"} {
		if r.body[body] != nil {
			then[attr] = string(encoded(r.body[body]))
		}
	}
	t.begin(updating, c.o.Delays.Update, then)
	return updateOf("ConfigUpdate"), nil
}

func (c *Cloud) upgradeNodegroup(r request) (any, error) {
	t, err := c.idleGroup(r)
	if err != nil {
		return nil, err
	}
	k, err := c.cluster(r)
	if err != nil {
		return nil, err
	}
	version := cmp.Or(field(r, "version"), t.Attr["version"])
	next := map[string]string{"template": t.Attr["template"], "templateVersion": t.Attr["templateVersion"], "image": t.Attr["image"], "version": version, "release": t.Attr["release"]}
	if t.Attr["image"] != customImage && (r.body["version"] != nil || r.body["releaseVersion"] != nil) {
		next["release"] = cmp.Or(field(r, "releaseVersion"), releaseOf(version))
	}
	switch {
	case t.Attr["image"] == customImage && r.body["launchTemplate"] == nil:
		return nil, bad("InvalidParameterException", "Launch template details can't be null for Custom ami type node group")
	case r.body["launchTemplate"] != nil && t.Attr["template"] == "":
		return nil, bad("InvalidParameterException", "Launch template cannot be specified for a node group that was created without one")
	case minorOf(version) > minorOf(k.Attr["version"]) || minorOf(version) < minorOf(t.Attr["version"]):
		return nil, bad("InvalidParameterException", "Nodegroup version %s is not between that of the nodegroup, %s, and that of the cluster, %s", version, t.Attr["version"], k.Attr["version"])
	}
	if err := c.launched(r, next, false); err != nil {
		return nil, err
	}
	if next["release"] == t.Attr["release"] && next["templateVersion"] == t.Attr["templateVersion"] {
		return nil, bad("InvalidParameterException", "No changes needed for the nodegroup")
	}
	t.begin(updating, c.o.Delays.Update, next)
	return updateOf("VersionUpdate"), nil
}

// staff has a node group have its number of instances; others than before, if it was upgraded.
func (c *Cloud) staff(t *Thing, upgraded bool) {
	want, _ := strconv.Atoi(t.Attr["desiredSize"])
	var have []*Thing
	for _, i := range c.things {
		if i.Kind == Instances && i.Tags["eks:cluster-name"] == t.Attr["cluster"] && i.Tags["eks:nodegroup-name"] == t.Attr["name"] && i.Attr["state"] != "terminated" {
			have = append(have, i)
		}
	}
	slices.SortFunc(have, func(a, b *Thing) int { return cmp.Compare(a.ID, b.ID) })
	for len(have) > 0 && (upgraded || len(have) > want) {
		c.end(have[len(have)-1], "")
		have = have[:len(have)-1]
	}
	for _, a := range c.things {
		if a.Kind == Addons && a.Attr["cluster"] == t.Attr["cluster"] && a.Attr["status"] == "DEGRADED" && want > 0 {
			a.Attr["status"], a.Attr["issues"] = active, "[]"
		}
	}
	var subnets []string
	_ = json.Unmarshal(t.raw("subnets"), &subnets)
	for n := len(have); n < want; n++ {
		address, room := c.address()
		if !room { // the group stays smaller
			return
		}
		attr := map[string]string{"state": "running", "instanceType": "t3.medium", "privateIpAddress": address, "role": t.Attr["role"]}
		if len(subnets) > 0 {
			if s := c.things[subnets[n%len(subnets)]]; s != nil {
				attr["subnetId"], attr["vpcId"], attr["zone"] = s.ID, s.Attr["vpcId"], s.Attr["zone"]
			}
		}
		i := c.add(Instances, attr, map[string]string{"eks:cluster-name": t.Attr["cluster"], "eks:nodegroup-name": t.Attr["name"], "kubernetes.io/cluster/" + t.Attr["cluster"]: "owned"})
		i.Made = time.Now().Add(-c.o.Delays.Lag)
	}
}

// FailNodegroups has the next node groups end in CREATE_FAILED; empty: they are made.
func (c *Cloud) FailNodegroups(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failingGroups = reason
}
