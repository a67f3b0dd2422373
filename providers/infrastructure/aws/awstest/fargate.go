package awstest

import (
	"fmt"
	"slices"
	"strings"
)

// FailFargate has the next Fargate profiles fail; empty: they are made.
func (c *Cloud) FailFargate(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failingFargate = reason
}

// profile returns a Fargate profile by the names in the path.
func (c *Cloud) profile(r request) (*Thing, error) {
	if _, err := c.cluster(r); err != nil {
		return nil, err
	}
	for _, t := range c.all(FargateProfiles) {
		if t.Attr["cluster"] == r.Get("cluster") && t.Attr["name"] == r.Get("name") {
			return t, nil
		}
	}
	return nil, unfound("No Fargate Profile found with name: %s.", r.Get("name"))
}

// profileAtWork returns the profile of a cluster that EKS makes or deletes: it takes one at a time.
func (c *Cloud) profileAtWork(cluster string) *Thing {
	for _, t := range c.all(FargateProfiles) {
		if t.Attr["cluster"] == cluster && (t.Attr["status"] == creating || t.Attr["status"] == deleting) {
			return t
		}
	}
	return nil
}

func (c *Cloud) listProfiles(r request) (any, error) {
	if _, err := c.cluster(r); err != nil {
		return nil, err
	}
	var names []string
	for _, t := range c.all(FargateProfiles) {
		if t.Attr["cluster"] == r.Get("cluster") {
			names = append(names, t.Attr["name"])
		}
	}
	return c.namesIn(r, "fargateProfileNames", names)
}

func (c *Cloud) createProfile(r request) (any, error) {
	k, err := c.idle(r)
	if err != nil {
		return nil, err
	}
	name, cluster := field(r, "fargateProfileName"), k.Attr["name"]
	r.Set("name", name)
	if _, err := c.profile(r); err == nil {
		return nil, conflict("A Fargate Profile already exists with this name in this cluster.")
	}
	if busy := c.profileAtWork(cluster); busy != nil {
		return nil, conflict("Cannot create Fargate Profile %s because cluster %s currently has Fargate profile %s in status %s", name, cluster, busy.Attr["name"], busy.Attr["status"])
	}
	selectors, _ := r.body["selectors"].([]any)
	switch role := field(r, "podExecutionRoleArn"); {
	case !clusterName.MatchString(name):
		return nil, bad("InvalidParameterException", "The name of the profile is not valid: %s", name)
	case len(selectors) == 0 || len(selectors) > 5:
		return nil, bad("InvalidParameterException", "There are %d selectors", len(selectors))
	case strings.Contains(role, "missing"):
		return nil, bad("InvalidParameterException", "Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Service Principal")
	}
	for _, id := range words(r.body, "subnets") {
		s := c.get(Subnets, id)
		if s == nil {
			return nil, bad("InvalidParameterException", "The subnet ID '%s' does not exist", id)
		}
		if c.leadsOut(s) {
			return nil, bad("InvalidParameterException", "Subnet %s provided in Fargate Profile is not a private subnet", id)
		}
	}
	t := c.addNamed(FargateProfiles, fmt.Sprintf("arn:aws:eks:%s:%s:fargateprofile/%s/%s/%x", c.o.Region, c.o.Account, cluster, name, c.n+1), map[string]string{
		"cluster": cluster, "name": name, "role": field(r, "podExecutionRoleArn"),
	}, tagsOf(r.body, "tags"))
	t.put("selectors", selectors)
	t.put("subnets", r.body["subnets"])
	then := map[string]string{}
	if c.failingFargate != "" {
		then["status"], then["issues"] = "CREATE_FAILED", string(encoded([]any{map[string]any{"code": "PodExecutionRoleAlreadyInUse", "message": c.failingFargate}}))
	}
	t.begin(creating, c.o.Delays.Nodegroup, then)
	return map[string]any{"fargateProfile": shownProfile(t)}, nil
}

// leadsOut reports whether a subnet has a route to an internet gateway.
func (c *Cloud) leadsOut(s *Thing) bool {
	for _, t := range c.all(RouteTables) {
		of := func(a string) bool { return strings.HasSuffix(a, " "+s.ID) }
		if slices.ContainsFunc(t.Sets["associations"], of) && slices.ContainsFunc(t.Sets["routes"], func(r string) bool { return strings.Contains(r, "igw-") }) {
			return true
		}
	}
	return false
}

func shownProfile(t *Thing) map[string]any {
	out := map[string]any{
		"fargateProfileName": t.Attr["name"], "fargateProfileArn": t.ID, "clusterName": t.Attr["cluster"], "podExecutionRoleArn": t.Attr["role"],
		"subnets": t.raw("subnets"), "selectors": t.raw("selectors"), "status": t.Attr["status"], "tags": t.Tags, "createdAt": float64(t.Made.UnixMilli()) / 1000,
	}
	if t.Attr["issues"] != "" {
		out["health"] = map[string]any{"issues": t.raw("issues")}
	}
	return out
}

func (c *Cloud) describeProfile(r request) (any, error) {
	t, err := c.profile(r)
	if err != nil {
		return nil, err
	}
	return map[string]any{"fargateProfile": shownProfile(t)}, nil
}

func (c *Cloud) deleteProfile(r request) (any, error) {
	t, err := c.profile(r)
	if err != nil {
		return nil, err
	}
	if busy := c.profileAtWork(t.Attr["cluster"]); busy != nil {
		return nil, conflict("Cannot delete Fargate Profile %s because cluster %s currently has Fargate profile %s in status %s", t.Attr["name"], t.Attr["cluster"], busy.Attr["name"], busy.Attr["status"])
	}
	t.begin(deleting, c.o.Delays.Nodegroup, nil)
	return map[string]any{"fargateProfile": shownProfile(t)}, nil
}
