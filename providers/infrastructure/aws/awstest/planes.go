package awstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Planes run the API servers of clusters of EKS, by the names of these. No call waits, and none calls the Cloud.
type Planes interface {
	// Run has a cluster served in a version such as 1.36, and returns its API server once that is ready. An error says why it
	// cannot be.
	Run(cluster, version string) (p Plane, ready bool, err error)
	// Stop ends the API server of a cluster, with all that is stored in it.
	Stop(cluster string)
}

// A Plane is an API server that runs.
type Plane struct {
	Endpoint string // URL
	CA       []byte // PEM
}

// served reports whether what t begins to be is so at its API server.
func (c *Cloud) served(t *Thing, then map[string]string) bool {
	if t.Kind != ManagedClusters || c.o.Planes == nil {
		return true
	}
	if t.Attr["status"] == deleting {
		c.o.Planes.Stop(t.Attr["name"])
		return true
	}
	p, ready, err := c.o.Planes.Run(t.Attr["name"], cmp.Or(then["version"], t.Attr["version"]))
	switch {
	case err != nil:
		t.Attr["issues"] = string(encoded([]any{map[string]any{"code": "InternalFailure", "message": err.Error()}}))
		if delete(then, "version"); t.Attr["status"] == creating {
			then["status"] = "FAILED"
		}
	case !ready:
		return false
	default:
		t.Attr["endpoint"], t.Attr["ca"] = p.Endpoint, string(p.CA)
	}
	return true
}

// A User is who a cluster of EKS takes somebody for.
type User struct {
	Name      string
	Groups    []string
	Principal string // the ARN of the user or role of IAM
}

// What an entry for machines says, and what stands for the name of one.
const (
	machineEntry = "EC2_LINUX"
	machineGroup = "system:nodes"
	instanceName = "{{EC2PrivateDNSName}}"
	sessionName  = "{{SessionName}}"
)

// principalOf returns the ARN of the user or role that an ARN is a session of, without its path, and the name of the session.
func principalOf(arn string) (principal, session string) {
	if before, after, ok := strings.Cut(arn, ":assumed-role/"); ok {
		role, session, _ := strings.Cut(after, "/")
		return strings.Replace(before, ":sts:", ":iam:", 1) + ":role/" + role, session
	}
	if before, after, ok := strings.Cut(arn, ":role/"); ok {
		return before + ":role/" + path.Base(after), ""
	}
	return arn, ""
}

// Admit returns who a token for the API server of a cluster is of: the entry of a principal says so, or aws-auth, which EKS
// writes itself for the maker of a cluster and for the roles of node groups.
// Source: EKS user guide, "Grant IAM users access to Kubernetes with EKS access entries".
func (c *Cloud) Admit(cluster, token string, now time.Time) (User, error) {
	who, err := c.Authenticate(cluster, token, now)
	if err != nil {
		return User{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.find(ManagedClusters, "name", cluster)
	if t == nil {
		return User{}, fmt.Errorf("there is no cluster %q", cluster)
	}
	principal, session := principalOf(who)
	if e := c.entryOf(t, principal); e != nil {
		u := User{Name: e.Attr["username"], Groups: slices.Clone(e.Sets["groups"]), Principal: principal}
		if e.Attr["type"] == machineEntry {
			u.Name, u.Groups = "system:node:"+instanceName, []string{machineGroup}
		}
		return c.named(u, session)
	}
	if t.Attr["mode"] == "API" {
		return User{}, fmt.Errorf("cluster %s has no access entry for %s", cluster, principal)
	}
	if maker, _ := principalOf(t.Attr["creator"]); maker == principal && t.Attr["mode"] == "CONFIG_MAP" {
		return User{Name: "kubernetes-admin", Groups: []string{"system:masters"}, Principal: principal}, nil
	}
	for _, g := range c.all(Nodegroups) {
		if role, _ := principalOf(g.Attr["role"]); g.Attr["cluster"] == cluster && role == principal {
			return c.named(User{Name: "system:node:" + instanceName, Groups: []string{machineGroup}, Principal: principal}, session)
		}
	}
	return User{}, fmt.Errorf("neither an access entry nor aws-auth of cluster %s has %s", cluster, principal)
}

// Principal returns the user or role of IAM that a token for the API server of a cluster is of, and its session. Mapped says whether
// the cluster lets in those in aws-auth.
func (c *Cloud) Principal(cluster, token string, now time.Time) (principal, session string, mapped bool, err error) {
	who, err := c.Authenticate(cluster, token, now)
	if err != nil {
		return "", "", false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.find(ManagedClusters, "name", cluster)
	principal, session = principalOf(who)
	return principal, session, t != nil && t.Attr["mode"] != "API", nil
}

// entryOf returns the access entry of a principal; nil: there is none.
func (c *Cloud) entryOf(cluster *Thing, principal string) *Thing {
	for _, e := range c.all(AccessEntries) {
		if of, _ := principalOf(e.Attr["principal"]); e.Attr["cluster"] == cluster.Attr["name"] && of == principal {
			return e
		}
	}
	return nil
}

// named fills in what stands for the name of a session in the name of a user.
func (c *Cloud) named(u User, session string) (User, error) {
	if strings.Contains(u.Name, instanceName) {
		i := c.get(Instances, session)
		if i == nil || i.Attr["state"] == "terminated" {
			return User{}, fmt.Errorf("session %q of %s is no instance", session, u.Principal)
		}
		u.Name = strings.ReplaceAll(u.Name, instanceName, c.HostName(i.Attr["privateIpAddress"]))
	}
	u.Name = strings.ReplaceAll(u.Name, sessionName, session)
	return u, nil
}

// An Access is what somebody wants to do. Resource is empty for a path that is no resource.
type Access struct {
	Verb, Resource, Namespace string
}

// Allows reports whether a policy of the access entry of a principal allows an access. It knows those for administrators
// and for who may see all, and no others.
// Source: EKS user guide, "Review access policy permissions".
func (c *Cloud) Allows(cluster, principal string, a Access) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.find(ManagedClusters, "name", cluster)
	if t == nil {
		return false
	}
	e := c.entryOf(t, principal)
	if e == nil {
		return false
	}
	var policies []struct {
		PolicyARN   string
		AccessScope struct {
			Type       string
			Namespaces []string
		}
	}
	_ = json.Unmarshal(e.raw("policies"), &policies)
	for _, p := range policies {
		inScope := p.AccessScope.Type == "cluster" || slices.Contains(p.AccessScope.Namespaces, a.Namespace)
		switch path.Base(p.PolicyARN) {
		case "AmazonEKSClusterAdminPolicy":
			if inScope {
				return true
			}
		case "AmazonEKSAdminViewPolicy":
			if inScope && a.Resource != "" && slices.Contains([]string{"get", "list", "watch"}, a.Verb) {
				return true
			}
		}
	}
	return false
}

// roleCredentials are what the metadata service gives an instance for its role, which has the name of its profile.
func (c *Cloud) roleCredentials(i *Thing) (role, credentials string, ok bool) {
	arn := i.Attr["role"]
	if arn == "" && i.Attr["profile"] != "" {
		arn = "arn:aws:iam::" + c.o.Account + ":role/" + i.Attr["profile"]
	}
	if arn == "" {
		return "", "", false
	}
	if i.Attr["key"] == "" {
		i.Attr["key"] = c.session(arn, i.ID)
	}
	data, err := json.Marshal(map[string]string{
		"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": i.Attr["key"], "SecretAccessKey": assumedSecret, "Token": assumedToken,
		"Expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
	})
	return path.Base(arn), string(data), err == nil
}
