package awstest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// entries returns the cluster of a request, which has entries.
func (c *Cloud) entries(r request) (*Thing, error) {
	t, err := c.cluster(r)
	switch {
	case err != nil:
		return nil, err
	case t.Attr["status"] == creating:
		return nil, bad("InvalidRequestException", "Cluster %s is CREATING", t.Attr["name"])
	case t.Attr["mode"] == "CONFIG_MAP":
		return nil, bad("InvalidRequestException", "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation.")
	}
	return t, nil
}

// entry returns an entry of the cluster of a request.
func (c *Cloud) entry(r request) (*Thing, error) {
	if _, err := c.entries(r); err != nil {
		return nil, err
	}
	for _, e := range c.all(AccessEntries) {
		if e.Attr["cluster"] == r.Get("cluster") && e.Attr["principal"] == r.Get("name") {
			return e, nil
		}
	}
	return nil, unfound("The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'.")
}

func (c *Cloud) listEntries(r request) (any, error) {
	if _, err := c.entries(r); err != nil {
		return nil, err
	}
	var names []string
	for _, e := range c.all(AccessEntries) {
		if e.Attr["cluster"] == r.Get("cluster") {
			names = append(names, e.Attr["principal"])
		}
	}
	return c.namesIn(r, "accessEntries", names)
}

func (c *Cloud) createEntry(r request) (any, error) {
	if _, err := c.entries(r); err != nil {
		return nil, err
	}
	principal := field(r, "principalArn")
	r.Set("name", principal)
	if _, err := c.entry(r); err == nil {
		return nil, conflict("The specified access entry resource is already in use on this cluster.")
	}
	if strings.Contains(principal, "missing") {
		return nil, bad("InvalidParameterException", "The specified principalArn is invalid: invalid principal")
	}
	e := c.add(AccessEntries, map[string]string{
		"cluster": r.Get("cluster"), "principal": principal, "type": cmp.Or(field(r, "type"), "STANDARD"), "username": cmp.Or(field(r, "username"), usernameOf(principal)),
	}, tagsOf(r.body, "tags"))
	e.Sets["groups"] = words(r.body, "kubernetesGroups")
	e.setPolicies(nil)
	return map[string]any{"accessEntry": shownEntry(e)}, nil
}

// usernameOf returns the name of a principal in a cluster: a session of a role has that of the session.
func usernameOf(principal string) string {
	account, role, ok := strings.Cut(strings.TrimPrefix(principal, "arn:aws:iam::"), ":role/")
	if !ok {
		return principal
	}
	parts := strings.Split(role, "/")
	return "arn:aws:sts::" + account + ":assumed-role/" + parts[len(parts)-1] + "/{{SessionName}}"
}

func shownEntry(e *Thing) map[string]any {
	return map[string]any{
		"clusterName": e.Attr["cluster"], "accessEntryArn": e.ID, "principalArn": e.Attr["principal"], "kubernetesGroups": append([]string{}, e.Sets["groups"]...), "username": e.Attr["username"],
		"type": e.Attr["type"], "tags": e.Tags,
	}
}

func (c *Cloud) describeEntry(r request) (any, error) {
	e, err := c.entry(r)
	if err != nil {
		return nil, err
	}
	return map[string]any{"accessEntry": shownEntry(e)}, nil
}

func (c *Cloud) updateEntry(r request) (any, error) {
	e, err := c.entry(r)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(field(r, "username"), "system:") {
		return nil, bad("InvalidParameterException", "The username can't start with system:")
	}
	e.Sets["groups"], e.Attr["username"] = words(r.body, "kubernetesGroups"), cmp.Or(field(r, "username"), e.Attr["username"])
	return map[string]any{"accessEntry": shownEntry(e)}, nil
}

func (c *Cloud) deleteEntry(r request) (any, error) {
	e, err := c.entry(r)
	if err != nil {
		return nil, err
	}
	delete(c.things, e.ID)
	return map[string]any{}, nil
}

// policiesOf returns the policies of an entry by their ARNs.
func policiesOf(e *Thing) map[string]map[string]any {
	var list []map[string]any
	_ = json.Unmarshal(e.raw("policies"), &list)
	out := make(map[string]map[string]any)
	for _, p := range list {
		arn, _ := p["policyArn"].(string)
		out[arn] = p
	}
	return out
}

func (e *Thing) setPolicies(all map[string]map[string]any) {
	list := []map[string]any{}
	for _, arn := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[arn])
	}
	e.put("policies", list)
}

func (c *Cloud) listPolicies(r request) (any, error) {
	e, err := c.entry(r)
	if err != nil {
		return nil, err
	}
	return map[string]any{"associatedAccessPolicies": e.raw("policies")}, nil
}

func (c *Cloud) setPolicy(r request) (any, error) {
	e, err := c.entry(r)
	if err != nil {
		return nil, err
	}
	all := policiesOf(e)
	all[field(r, "policyArn")] = map[string]any{"policyArn": field(r, "policyArn"), "accessScope": r.body["accessScope"]}
	e.setPolicies(all)
	return map[string]any{}, nil
}

func (c *Cloud) dropPolicy(r request) (any, error) {
	e, err := c.entry(r)
	if err != nil {
		return nil, err
	}
	all := policiesOf(e)
	delete(all, r.Get("policy"))
	e.setPolicies(all)
	return map[string]any{}, nil
}
