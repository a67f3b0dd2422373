package awstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// addonVersions returns the versions of addons that EKS has for a minor version of Kubernetes, by their names.
func addonVersions(kubernetes string) map[string][]string {
	out := make(map[string][]string)
	for _, name := range []string{"vpc-cni", "coredns", "kube-proxy", "aws-ebs-csi-driver"} {
		out[name] = []string{"v" + kubernetes + ".0-eksbuild.1", "v" + kubernetes + ".0-eksbuild.2", "v1.20.0-eksbuild.1"}
	}
	return out
}

// FailAddons has the next changes of addons fail; empty: they are made.
func (c *Cloud) FailAddons(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failingAddons = reason
}

func (c *Cloud) addon(r request) (*Thing, error) {
	if _, err := c.cluster(r); err != nil {
		return nil, err
	}
	for _, t := range c.all(Addons) {
		if t.Attr["cluster"] == r.Get("cluster") && t.Attr["name"] == r.Get("name") {
			return t, nil
		}
	}
	return nil, unfound("No addon: %s found in cluster: %s", r.Get("name"), r.Get("cluster"))
}

func (c *Cloud) listAddons(r request) (any, error) {
	if _, err := c.cluster(r); err != nil {
		return nil, err
	}
	var names []string
	for _, t := range c.all(Addons) {
		if t.Attr["cluster"] == r.Get("cluster") {
			names = append(names, t.Attr["name"])
		}
	}
	return c.namesIn(r, "addons", names)
}

func (c *Cloud) addonVersions(r request) (any, error) {
	list := []any{}
	name := r.Get("addonName")
	for _, v := range addonVersions(r.Get("kubernetesVersion"))[name] {
		list = append(list, map[string]any{"addonVersion": v})
	}
	if len(list) == 0 {
		return map[string]any{"addons": list}, nil
	}
	return map[string]any{"addons": []any{map[string]any{"addonName": name, "addonVersions": list}}}, nil
}

// checkAddon refuses what EKS refuses of a new addon and of a change.
func checkAddon(k *Thing, name string, r request) error {
	var values map[string]any
	text := field(r, "configurationValues")
	switch {
	case k.Attr["status"] != active:
		return bad("InvalidRequestException", "Cluster '%s' is not in ACTIVE status", k.Attr["name"])
	case addonVersions(k.Attr["version"])[name] == nil:
		return bad("InvalidParameterException", "Addon %s specified is not supported in %s kubernetes version", name, k.Attr["version"])
	case !slices.Contains(addonVersions(k.Attr["version"])[name], field(r, "addonVersion")):
		return bad("InvalidParameterException", "Addon version specified is not supported")
	case !slices.Contains([]string{"NONE", "OVERWRITE", "PRESERVE"}, field(r, "resolveConflicts")):
		return bad("InvalidParameterException", "resolveConflicts has the value %q", field(r, "resolveConflicts"))
	case text != "" && json.Unmarshal([]byte(text), &values) != nil:
		return bad("InvalidParameterException", "ConfigurationValue is not in valid JSON or YAML format")
	case values["nonsense"] != nil:
		return bad("InvalidParameterException", "ConfigurationValue provided in request is not supported: Json schema validation failed with error: [$.nonsense: is not defined in the schema]")
	case strings.Contains(field(r, "serviceAccountRoleArn"), "missing"):
		return bad("InvalidParameterException", "ServiceAccountRoleArn %s could not be assumed", field(r, "serviceAccountRoleArn"))
	}
	return nil
}

// settled returns what a change of an addon ends in. CoreDNS is degraded without Nodes.
func (c *Cloud) settled(t *Thing, failed string, then map[string]string) map[string]string {
	issue := func(code, message string) string {
		return string(encoded([]any{map[string]any{"code": code, "message": message, "resourceIds": []string{}}}))
	}
	if c.failingAddons != "" {
		return map[string]string{"status": failed, "issues": issue("ConfigurationConflict", c.failingAddons)}
	}
	out := map[string]string{"issues": "[]"}
	maps.Copy(out, then)
	if t.Attr["name"] == "coredns" && c.find(Nodegroups, "cluster", t.Attr["cluster"]) == nil {
		out["status"], out["issues"] = "DEGRADED", issue("InsufficientNumberOfReplicas", "The add-on is unhealthy because it doesn't have the desired number of replicas.")
	}
	return out
}

func (c *Cloud) createAddon(r request) (any, error) {
	k, err := c.cluster(r)
	if err != nil {
		return nil, err
	}
	name := field(r, "addonName")
	r.Set("name", name)
	if _, err := c.addon(r); err == nil {
		return nil, conflict("Addon already exists.")
	}
	if err := checkAddon(k, name, r); err != nil {
		return nil, err
	}
	t := c.addNamed(Addons, fmt.Sprintf("arn:aws:eks:%s:%s:addon/%s/%s/%x", c.o.Region, c.o.Account, k.Attr["name"], name, c.n+1), map[string]string{
		"cluster": k.Attr["name"], "name": name, "version": field(r, "addonVersion"), "configuration": field(r, "configurationValues"), "role": field(r, "serviceAccountRoleArn"),
		"conflicts": field(r, "resolveConflicts"),
	}, tagsOf(r.body, "tags"))
	t.begin(creating, c.o.Delays.Update, c.settled(t, "CREATE_FAILED", nil))
	return map[string]any{"addon": shownAddon(t)}, nil
}

func shownAddon(t *Thing) map[string]any {
	out := map[string]any{
		"addonName": t.Attr["name"], "addonArn": t.ID, "clusterName": t.Attr["cluster"], "addonVersion": t.Attr["version"], "status": t.Attr["status"], "tags": t.Tags,
		"health": map[string]any{"issues": json.RawMessage(cmp.Or(t.Attr["issues"], "[]"))},
	}
	for attr, f := range map[string]string{"configuration": "configurationValues", "role": "serviceAccountRoleArn"} {
		if t.Attr[attr] != "" {
			out[f] = t.Attr[attr]
		}
	}
	return out
}

func (c *Cloud) describeAddon(r request) (any, error) {
	t, err := c.addon(r)
	if err != nil {
		return nil, err
	}
	return map[string]any{"addon": shownAddon(t)}, nil
}

// updateAddon changes an addon. What a request does not have stays.
func (c *Cloud) updateAddon(r request) (any, error) {
	t, err := c.addon(r)
	if err != nil {
		return nil, err
	}
	k, err := c.cluster(r)
	if err != nil {
		return nil, err
	}
	if s := t.Attr["status"]; s != active && s != "DEGRADED" && s != "UPDATE_FAILED" {
		return nil, conflict("Addon %s cannot be updated as it is currently in %s state", t.Attr["name"], s)
	}
	if err := checkAddon(k, t.Attr["name"], r); err != nil {
		return nil, err
	}
	then := map[string]string{"version": field(r, "addonVersion"), "conflicts": field(r, "resolveConflicts")}
	for f, attr := range map[string]string{"configurationValues": "configuration", "serviceAccountRoleArn": "role"} {
		if r.body[f] != nil {
			then[attr] = field(r, f)
		}
	}
	t.begin(updating, c.o.Delays.Update, c.settled(t, "UPDATE_FAILED", then))
	return updateOf("AddonUpdate"), nil
}

// deleteAddon deletes an addon. What it installed stays where that is asked for, as the cluster says.
func (c *Cloud) deleteAddon(r request) (any, error) {
	t, err := c.addon(r)
	switch {
	case err != nil:
		return nil, err
	case t.Attr["status"] == creating || t.Attr["status"] == updating:
		return nil, conflict("Addon %s cannot be deleted as it is currently in %s state", t.Attr["name"], t.Attr["status"])
	case t.Attr["status"] == deleting:
		return map[string]any{"addon": shownAddon(t)}, nil
	}
	if k, err := c.cluster(r); err == nil && r.Get("preserve") == "true" {
		k.Sets["preserved"] = append(k.Sets["preserved"], t.Attr["name"])
	}
	t.begin(deleting, c.o.Delays.Update, nil)
	return map[string]any{"addon": shownAddon(t)}, nil
}
