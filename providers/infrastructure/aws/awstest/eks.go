package awstest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The states of clusters and node groups of EKS.
const (
	creating = "CREATING"
	active   = "ACTIVE"
	updating = "UPDATING"
	deleting = "DELETING"
)

// The versions of Kubernetes that EKS makes clusters of.
func eksVersions() []string { return []string{"1.31", "1.32", "1.33", "1.34", "1.35", "1.36"} }

// restAction returns which action of EKS a method and a path are, and what is in the path.
func restAction(method, path string) (action string, in url.Values) {
	in = url.Values{}
	var parts []string
	for p := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		plain, _ := url.PathUnescape(p)
		parts = append(parts, plain)
	}
	shape := []string{method}
	for i, p := range parts {
		switch {
		case i == 1 && parts[0] == "clusters":
			in.Set("cluster", p)
			p = "*"
		case i == 1 && parts[0] == "tags":
			in.Set("arn", p)
			p = "*"
		case i == 3 && (parts[2] == "node-groups" || parts[2] == "access-entries" || parts[2] == "addons" || parts[2] == "fargate-profiles"):
			in.Set("name", p)
			p = "*"
		case i == 5:
			in.Set("policy", p)
			p = "*"
		}
		shape = append(shape, p)
	}
	return map[string]string{
		"GET clusters":                                           "ListClusters",
		"POST clusters":                                          "CreateCluster",
		"GET clusters *":                                         "DescribeCluster",
		"DELETE clusters *":                                      "DeleteCluster",
		"POST clusters * updates":                                "UpdateClusterVersion",
		"POST clusters * update-config":                          "UpdateClusterConfig",
		"POST clusters * encryption-config associate":            "AssociateEncryptionConfig",
		"POST tags *":                                            "TagResource",
		"DELETE tags *":                                          "UntagResource",
		"GET clusters * access-entries":                          "ListAccessEntries",
		"POST clusters * access-entries":                         "CreateAccessEntry",
		"GET clusters * access-entries *":                        "DescribeAccessEntry",
		"POST clusters * access-entries *":                       "UpdateAccessEntry",
		"DELETE clusters * access-entries *":                     "DeleteAccessEntry",
		"GET clusters * access-entries * access-policies":        "ListAssociatedAccessPolicies",
		"POST clusters * access-entries * access-policies":       "AssociateAccessPolicy",
		"DELETE clusters * access-entries * access-policies *":   "DisassociateAccessPolicy",
		"GET clusters * node-groups":                             "ListNodegroups",
		"POST clusters * node-groups":                            "CreateNodegroup",
		"GET clusters * node-groups *":                           "DescribeNodegroup",
		"DELETE clusters * node-groups *":                        "DeleteNodegroup",
		"POST clusters * node-groups * update-config":            "UpdateNodegroupConfig",
		"POST clusters * node-groups * update-version":           "UpdateNodegroupVersion",
		"GET clusters * addons":                                  "ListAddons",
		"POST clusters * addons":                                 "CreateAddon",
		"GET clusters * addons *":                                "DescribeAddon",
		"POST clusters * addons * update":                        "UpdateAddon",
		"DELETE clusters * addons *":                             "DeleteAddon",
		"GET clusters * fargate-profiles":                        "ListFargateProfiles",
		"POST clusters * fargate-profiles":                       "CreateFargateProfile",
		"GET clusters * fargate-profiles *":                      "DescribeFargateProfile",
		"DELETE clusters * fargate-profiles *":                   "DeleteFargateProfile",
		"GET clusters * identity-provider-configs":               "ListIdentityProviderConfigs",
		"POST clusters * identity-provider-configs describe":     "DescribeIdentityProviderConfig",
		"POST clusters * identity-provider-configs associate":    "AssociateIdentityProviderConfig",
		"POST clusters * identity-provider-configs disassociate": "DisassociateIdentityProviderConfig",
		"GET addons supported-versions":                          "DescribeAddonVersions",
	}[strings.Join(shape, " ")], in
}

func (c *Cloud) eks() map[string]action {
	return map[string]action{
		"ListClusters":                 c.listClusters,
		"CreateCluster":                c.createCluster,
		"DescribeCluster":              c.describeCluster,
		"DeleteCluster":                c.deleteCluster,
		"UpdateClusterVersion":         c.updateVersion,
		"UpdateClusterConfig":          c.updateConfig,
		"AssociateEncryptionConfig":    c.encrypt,
		"TagResource":                  c.tagResource,
		"UntagResource":                c.untagResource,
		"ListAccessEntries":            c.listEntries,
		"CreateAccessEntry":            c.createEntry,
		"DescribeAccessEntry":          c.describeEntry,
		"UpdateAccessEntry":            c.updateEntry,
		"DeleteAccessEntry":            c.deleteEntry,
		"ListAssociatedAccessPolicies": c.listPolicies,
		"AssociateAccessPolicy":        c.setPolicy,
		"DisassociateAccessPolicy":     c.dropPolicy,
		"ListNodegroups":               c.listNodegroups,
		"CreateNodegroup":              c.createNodegroup,
		"DescribeNodegroup":            c.describeNodegroup,
		"DeleteNodegroup":              c.deleteNodegroup,
		"UpdateNodegroupConfig":        c.updateNodegroup,
		"UpdateNodegroupVersion":       c.upgradeNodegroup,
		"ListAddons":                   c.listAddons,
		"CreateAddon":                  c.createAddon,
		"DescribeAddon":                c.describeAddon,
		"UpdateAddon":                  c.updateAddon,
		"DeleteAddon":                  c.deleteAddon,
		"DescribeAddonVersions":        c.addonVersions,
		"ListFargateProfiles":          c.listProfiles,
		"CreateFargateProfile":         c.createProfile,
		"DescribeFargateProfile":       c.describeProfile,
		"DeleteFargateProfile":         c.deleteProfile,

		"ListIdentityProviderConfigs":        c.listIdentityProviders,
		"DescribeIdentityProviderConfig":     c.describeIdentityProvider,
		"AssociateIdentityProviderConfig":    c.associateIdentityProvider,
		"DisassociateIdentityProviderConfig": c.disassociateIdentityProvider,
	}
}

func conflict(format string, args ...any) error {
	return failure{http.StatusConflict, "ResourceInUseException", fmt.Sprintf(format, args...)}
}

func unfound(format string, args ...any) error {
	return failure{http.StatusNotFound, "ResourceNotFoundException", fmt.Sprintf(format, args...)}
}

// put stores a value as JSON.
func (t *Thing) put(name string, value any) {
	data, _ := json.Marshal(value)
	t.Attr[name] = string(data)
}

// raw returns what put stored.
func (t *Thing) raw(name string) json.RawMessage {
	return json.RawMessage(cmp.Or(t.Attr[name], "null"))
}

// mapping returns an object in a body.
func mapping(in map[string]any, name string) map[string]any {
	out, _ := in[name].(map[string]any)
	return out
}

// words returns a list of texts in a body.
func words(in map[string]any, name string) []string {
	var out []string
	list, _ := in[name].([]any)
	for _, one := range list {
		s, _ := one.(string)
		out = append(out, s)
	}
	return out
}

// tagsOf returns an object of texts in a body.
func tagsOf(in map[string]any, name string) map[string]string {
	out := make(map[string]string)
	for k, v := range mapping(in, name) {
		out[k], _ = v.(string)
	}
	return out
}

// begin has a thing of EKS be in a state for a while, and have attributes after that.
func (t *Thing) begin(state string, takes time.Duration, then map[string]string) {
	t.Attr["status"], t.Attr["until"] = state, time.Now().Add(takes).Format(time.RFC3339Nano)
	t.put("then", maps.Collect(maps.All(then))) // {} of nil
}

// passManaged lets a state of EKS end.
func (c *Cloud) passManaged(t *Thing, now time.Time) {
	until, err := time.Parse(time.RFC3339Nano, t.Attr["until"])
	if err != nil || now.Before(until) {
		return
	}
	then := make(map[string]string)
	_ = json.Unmarshal(t.raw("then"), &then)
	if !c.served(t, then) {
		return
	}
	delete(t.Attr, "until")
	if t.Attr["status"] == deleting {
		c.goManaged(t)
		return
	}
	upgraded := then["release"] != "" && t.Attr["release"] != "" && (then["release"] != t.Attr["release"] || then["templateVersion"] != t.Attr["templateVersion"])
	maps.Copy(t.Attr, then)
	if then["status"] == "" {
		t.Attr["status"] = active
	}
	if t.Kind == Nodegroups && t.Attr["status"] == active {
		c.staff(t, upgraded)
	}
}

// goManaged removes a thing of EKS with what goes with it. The security group of a cluster stays while something is
// plugged into it.
func (c *Cloud) goManaged(t *Thing) {
	delete(c.things, t.ID)
	if t.Kind == Addons || t.Kind == FargateProfiles || t.Kind == IdentityProviders {
		return
	}
	if t.Kind == Nodegroups {
		for _, i := range c.things {
			if i.Kind == Instances && i.Tags["eks:cluster-name"] == t.Attr["cluster"] && i.Tags["eks:nodegroup-name"] == t.Attr["name"] && i.Attr["state"] != "terminated" {
				c.end(i, "")
			}
		}
		return
	}
	for id, o := range c.things {
		if (o.Kind == AccessEntries || o.Kind == Addons || o.Kind == IdentityProviders) && o.Attr["cluster"] == t.Attr["name"] || o.Kind == Interfaces && o.Attr["eks"] == t.ID {
			delete(c.things, id)
		}
	}
	for id, o := range c.things {
		if o.Kind == Groups && o.Tags["aws:eks:cluster-name"] == t.Attr["name"] && !c.o.LeaveGroups {
			delete(c.things, id)
		}
	}
}

// cluster returns one by the name in the path.
func (c *Cloud) cluster(r request) (*Thing, error) {
	if t := c.find(ManagedClusters, "name", r.Get("cluster")); t != nil {
		return t, nil
	}
	return nil, unfound("No cluster found for name: %s.", r.Get("cluster"))
}

// idle returns a cluster that takes a change.
func (c *Cloud) idle(r request) (*Thing, error) {
	t, err := c.cluster(r)
	if err == nil && t.Attr["status"] != active {
		return nil, conflict("Cannot change cluster %s: it is %s", t.Attr["name"], t.Attr["status"])
	}
	return t, err
}

// namesIn answers with a page of names.
func (c *Cloud) namesIn(r request, field string, names []string) (any, error) {
	slices.Sort(names)
	from, _ := strconv.Atoi(r.Get("nextToken"))
	to := min(from+c.o.Page, len(names))
	out := map[string]any{field: append([]string{}, names[min(from, to):to]...)}
	if to < len(names) {
		out["nextToken"] = strconv.Itoa(to)
	}
	return out, nil
}

func (c *Cloud) listClusters(r request) (any, error) {
	var names []string
	for _, t := range c.all(ManagedClusters) {
		if time.Since(t.Made) >= c.o.Delays.Lag {
			names = append(names, t.Attr["name"])
		}
	}
	return c.namesIn(r, "clusters", names)
}

var (
	clusterName = regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$`)
	groupName   = regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]{0,62}$`)
)

// once answers a request whose token it got before as it did then, and does nothing more.
func (c *Cloud) once(r request, do action) (any, error) {
	token := field(r, "clientRequestToken")
	if token == "" {
		return do(r)
	}
	key := r.call.Action + " " + token
	body := string(encoded(r.body))
	if was, ok := c.answered[key]; ok {
		if was.body != body {
			return nil, bad("InvalidParameterException", "The request has the clientRequestToken of another one")
		}
		return was.out, nil
	}
	out, err := do(r)
	if err == nil {
		c.answered[key] = answered{body, out}
	}
	return out, err
}

func (c *Cloud) createCluster(r request) (any, error) {
	name, version := field(r, "name"), field(r, "version")
	if c.find(ManagedClusters, "name", name) != nil {
		return nil, conflict("Cluster already exists with name: %s", name)
	}
	where := mapping(r.body, "resourcesVpcConfig")
	zones, vpc, lacks6 := map[string]bool{}, "", ""
	services, _ := mapping(r.body, "kubernetesNetworkConfig")["serviceIpv4Cidr"].(string)
	of6 := mapping(r.body, "kubernetesNetworkConfig")["ipFamily"] == "ipv6"
	for _, id := range words(where, "subnetIds") {
		s := c.get(Subnets, id)
		if s == nil {
			return nil, bad("InvalidParameterException", "The subnet ID '%s' does not exist", id)
		}
		if s.Attr["six"] == "" {
			lacks6 = id
		}
		zones[s.Attr["zone"]], vpc = true, s.Attr["vpcId"]
	}
	switch {
	case !clusterName.MatchString(name):
		return nil, bad("InvalidParameterException", "The name of the cluster can contain only alphanumeric characters, hyphens, and underscores")
	case len(zones) < 2:
		return nil, bad("InvalidParameterException", "Subnets specified must be in at least two different AZs")
	case !slices.Contains(eksVersions(), version):
		return nil, bad("InvalidParameterException", "unsupported Kubernetes version")
	case !strings.HasPrefix(field(r, "roleArn"), "arn:") || strings.Contains(field(r, "roleArn"), "missing"):
		return nil, bad("InvalidParameterException", "Role with arn: %s, could not be assumed because it does not exist or the trusted entity is not correct", field(r, "roleArn"))
	case len(tagsOf(r.body, "tags")) > 50:
		return nil, bad("InvalidParameterException", "Too many tags")
	case of6 && (services != "" || lacks6 != ""):
		return nil, bad("InvalidParameterException", "With ipFamily ipv6, serviceIpv4Cidr %q is not specified, and subnet %q needs an IPv6 CIDR", services, lacks6)
	case c.over(ManagedClusters):
		return nil, bad("ResourceLimitExceededException", "Account quota exceeded for clusters")
	}
	t := c.addNamed(ManagedClusters, fmt.Sprintf("arn:aws:eks:%s:%s:cluster/%s", c.o.Region, c.o.Account, name), map[string]string{
		"name": name, "version": version, "roleArn": field(r, "roleArn"), "vpcId": vpc, "creator": r.who,
	}, tagsOf(r.body, "tags"))
	access := mapping(r.body, "accessConfig")
	mode, _ := access["authenticationMode"].(string)
	t.Attr["mode"] = cmp.Or(mode, "CONFIG_MAP")
	creator, given := access["bootstrapClusterCreatorAdminPermissions"].(bool)
	t.put("creatorAdmin", creator || !given)
	t.put("logging", cmp.Or[any](r.body["logging"], map[string]any{}))
	t.put("encryption", r.body["encryptionConfig"])
	if t.Attr["services"] = cmp.Or(services, "10.100.0.0/16"); of6 {
		t.Attr["services"] = "fd3d:8f1c:9e0b::/108"
	}
	support, _ := mapping(r.body, "upgradePolicy")["supportType"].(string)
	t.Attr["support"] = cmp.Or(support, "EXTENDED")
	c.setVPC(t.Attr, where)
	group := c.add(Groups, map[string]string{"vpcId": vpc, "groupName": "eks-cluster-sg-" + name + "-1"}, map[string]string{
		"Name": "eks-cluster-sg-" + name + "-1", "aws:eks:cluster-name": name, "kubernetes.io/cluster/" + name: "owned",
	})
	t.Attr["group"] = group.ID
	for _, id := range words(where, "subnetIds") {
		i := c.add(Interfaces, map[string]string{"vpcId": vpc, "subnetId": id, "eks": t.ID, "description": "Amazon EKS " + name}, nil)
		i.Sets["groups"] = []string{group.ID}
	}
	if t.Attr["mode"] != "CONFIG_MAP" && string(t.raw("creatorAdmin")) == "true" {
		principal, _ := principalOf(r.who)
		e := c.add(AccessEntries, map[string]string{"cluster": name, "principal": principal, "type": "STANDARD", "username": usernameOf(principal)}, nil)
		e.put("policies", []any{map[string]any{"policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy", "accessScope": map[string]any{"type": "cluster"}}})
	}
	t.begin(creating, c.o.Delays.Cluster, nil)
	return map[string]any{"cluster": c.shownCluster(t)}, nil
}

// setVPC takes over what a request says of the endpoint and the subnets.
func (c *Cloud) setVPC(attr map[string]string, in map[string]any) {
	t := Thing{Attr: attr}
	for _, f := range []string{"subnetIds", "endpointPublicAccess", "endpointPrivateAccess", "publicAccessCidrs"} {
		switch {
		case in[f] != nil:
			t.put(f, in[f])
		case attr[f] != "":
		case f == "endpointPublicAccess", f == "endpointPrivateAccess":
			t.put(f, f == "endpointPublicAccess")
		case f == "publicAccessCidrs":
			t.put(f, []string{"0.0.0.0/0"})
		}
	}
}

func (c *Cloud) shownCluster(t *Thing) map[string]any {
	out := map[string]any{
		"name": t.Attr["name"], "arn": t.ID, "version": t.Attr["version"], "roleArn": t.Attr["roleArn"], "status": t.Attr["status"], "tags": t.Tags,
		"createdAt": float64(t.Made.UnixMilli()) / 1000, "logging": t.raw("logging"), "encryptionConfig": t.raw("encryption"),
		"accessConfig":  map[string]any{"authenticationMode": t.Attr["mode"], "bootstrapClusterCreatorAdminPermissions": t.raw("creatorAdmin")},
		"upgradePolicy": map[string]any{"supportType": t.Attr["support"]},
		"resourcesVpcConfig": map[string]any{
			"subnetIds": t.raw("subnetIds"), "vpcId": t.Attr["vpcId"], "clusterSecurityGroupId": t.Attr["group"],
			"endpointPublicAccess": t.raw("endpointPublicAccess"), "endpointPrivateAccess": t.raw("endpointPrivateAccess"), "publicAccessCidrs": t.raw("publicAccessCidrs"),
		},
		"health":                  map[string]any{"issues": json.RawMessage(cmp.Or(t.Attr["issues"], "[]"))},
		"kubernetesNetworkConfig": map[string]any{"serviceIpv4Cidr": t.Attr["services"], "ipFamily": "ipv4"},
	}
	if six := t.Attr["services"]; strings.Contains(six, ":") {
		out["kubernetesNetworkConfig"] = map[string]any{"serviceIpv6Cidr": six, "ipFamily": "ipv6"}
	}
	if s := t.Attr["status"]; s != creating && s != "FAILED" {
		id := idOfPlane(t)
		host := strings.ToLower(id) + ".gr7." + c.o.Region + ".eks.amazonaws.com"
		out["endpoint"] = cmp.Or(t.Attr["endpoint"], "https://"+id+".gr7."+c.o.Region+".eks.amazonaws.com")
		out["certificateAuthority"] = map[string]any{"data": base64.StdEncoding.EncodeToString([]byte(cmp.Or(t.Attr["ca"], "CA of "+host)))}
		out["identity"] = map[string]any{"oidc": map[string]any{"issuer": c.issuerOf(t)}}
	}
	return out
}

// idOfPlane returns what the name of the endpoint of a cluster begins with.
func idOfPlane(t *Thing) string { return fmt.Sprintf("%032X", len(t.Attr["name"])) }

// issuerOf returns who signs the tokens of service accounts.
func (c *Cloud) issuerOf(t *Thing) string {
	return "https://oidc.eks." + c.o.Region + ".amazonaws.com/id/" + fmt.Sprintf("%016X", t.Made.UnixNano()) + idOfPlane(t)[16:]
}

func (c *Cloud) describeCluster(r request) (any, error) {
	t, err := c.cluster(r)
	if err != nil {
		return nil, err
	}
	return map[string]any{"cluster": c.shownCluster(t)}, nil
}

func (c *Cloud) deleteCluster(r request) (any, error) {
	t, err := c.cluster(r)
	switch {
	case err != nil:
		return nil, err
	case t.Attr["status"] == deleting:
		return map[string]any{"cluster": c.shownCluster(t)}, nil
	case t.Attr["status"] == creating || t.Attr["status"] == updating:
		return nil, conflict("Cluster %s is %s", t.Attr["name"], t.Attr["status"])
	case c.find(Nodegroups, "cluster", t.Attr["name"]) != nil:
		return nil, conflict("Cluster has nodegroups attached")
	case c.find(FargateProfiles, "cluster", t.Attr["name"]) != nil:
		return nil, conflict("Cluster has Fargate profiles")
	}
	t.begin(deleting, c.o.Delays.Cluster, nil)
	return map[string]any{"cluster": c.shownCluster(t)}, nil
}
