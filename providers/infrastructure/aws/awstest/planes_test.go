package awstest_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// eks sends a request to EKS, and returns the answer.
func (c *caller) eks(method, path, body string) string {
	c.Helper()
	r := httptest.NewRequestWithContext(c.Context(), method, "/"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.key+"/20261128/eu-central-1/eks/aws4_request, Signature=x")
	r.RequestURI, r.URL.Host, r.URL.Scheme = "", "aws", "http"
	resp, err := c.client.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var b strings.Builder
	if err := resp.Write(&b); err != nil {
		c.Fatal(err)
	}
	return b.String()
}

// makeCluster makes a cluster.
func (c *caller) makeCluster(cloud *awstest.Cloud, name, access string) {
	c.Helper()
	_, subnets, _ := cloud.AddVPC("10.7.0.0/16")
	c.eks(http.MethodPost, "clusters", fmt.Sprintf(`{"name": %q, "version": "1.35", "roleArn": "arn:aws:iam::123456789012:role/r", "resourcesVpcConfig": {"subnetIds": [%q, %q]}, "accessConfig": %s}`, name, subnets[0], subnets[1], access))
}

// TestAdmit: who a token lets into a cluster of EKS, and as whom.
func TestAdmit(t *testing.T) {
	const entries, both, old = `{"authenticationMode": "API"}`, `{"authenticationMode": "API_AND_CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": false}`, `{}`
	for name, tc := range map[string]struct {
		access, role, session, want string
		gone                        bool
	}{
		"its maker, by its entry":   {entries, "", "", "arn:aws:iam::123456789012:user/fairlead []", false},
		"its maker, by aws-auth":    {old, "", "", "kubernetes-admin [system:masters]", false},
		"its maker, without rights": {both, "", "", "has arn:aws:iam::123456789012:user/fairlead", false},
		"a role with an entry":      {entries, "ops", "alice", "arn:aws:sts::123456789012:assumed-role/ops/alice [admins]", false},
		"its entry does not count":  {old, "ops", "alice", "has arn:aws:iam::123456789012:role/ops", false},
		"a role without one":        {entries, "dev", "alice", "no access entry for arn:aws:iam::123456789012:role/dev", false},
		"an instance of a group":    {entries, "nodes", "INSTANCE", "system:node:ADDRESS [system:nodes]", false},
		"an instance, by aws-auth":  {old, "nodes", "INSTANCE", "system:node:ADDRESS [system:nodes]", false},
		"a person with its role":    {entries, "nodes", "alice", `session "alice"`, false},
		"an instance, another role": {entries, "dev", "INSTANCE", "no access entry", false},
		"an instance that is gone":  {entries, "nodes", "INSTANCE", "is no instance", true},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := awstest.New(awstest.Options{})
			c := newCaller(t, cloud)
			c.makeCluster(cloud, "a", tc.access)
			c.makeCluster(cloud, "b", entries)
			c.eks(http.MethodPost, "clusters/b/access-entries", `{"principalArn": "arn:aws:iam::123456789012:role/dev"}`)
			c.eks(http.MethodPost, "clusters/a/access-entries", `{"principalArn": "arn:aws:iam::123456789012:role/path/ops", "kubernetesGroups": ["admins"]}`)
			c.eks(http.MethodPost, "clusters/a/node-groups", `{"nodegroupName": "g", "nodeRole": "arn:aws:iam::123456789012:role/nodes", "scalingConfig": {"minSize": 1, "maxSize": 1, "desiredSize": 1}}`)
			instances := cloud.Things(awstest.Instances)
			if len(instances) != 1 {
				t.Fatalf("%d instances", len(instances))
			}
			key := awstest.AccessKey
			if tc.role != "" {
				key = cloud.Assume(tc.role, strings.ReplaceAll(tc.session, "INSTANCE", instances[0].ID))
			}
			if tc.gone {
				cloud.Reclaim(instances[0].ID, "Server.SpotInstanceTermination")
			}
			token, err := cloud.Token(key, "a", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			u, err := cloud.Admit("a", token, time.Now())
			got := fmt.Sprint(u.Name, " ", u.Groups)
			if err != nil {
				got = err.Error()
			}
			if want := strings.ReplaceAll(tc.want, "ADDRESS", cloud.HostName(instances[0].Attr["privateIpAddress"])); !strings.Contains(got, want) {
				t.Errorf("it is %q, want %q", got, want)
			}
		})
	}
}

// TestAllows: what policies of an access entry allow.
func TestAllows(t *testing.T) {
	cloud := awstest.New(awstest.Options{})
	c := newCaller(t, cloud)
	c.makeCluster(cloud, "a", `{"authenticationMode": "API"}`)
	const ops = "arn:aws:iam::123456789012:role/ops"
	let := func(policy, scope string) {
		c.eks(http.MethodDelete, "clusters/a/access-entries/"+strings.ReplaceAll(ops, "/", "%2F"), "")
		c.eks(http.MethodPost, "clusters/a/access-entries", `{"principalArn": "`+ops+`"}`)
		c.eks(http.MethodPost, "clusters/a/access-entries/"+strings.ReplaceAll(ops, "/", "%2F")+"/access-policies", `{"policyArn": "arn:aws:eks::aws:cluster-access-policy/`+policy+`", "accessScope": `+scope+`}`)
	}
	look, change := awstest.Access{Verb: "list", Resource: "pods", Namespace: "web"}, awstest.Access{Verb: "patch", Resource: "nodes"}
	for _, tc := range []struct {
		policy, scope string
		look, change  bool
	}{
		{"AmazonEKSClusterAdminPolicy", `{"type": "cluster"}`, true, true},
		{"AmazonEKSClusterAdminPolicy", `{"type": "namespace", "namespaces": ["web"]}`, true, false},
		{"AmazonEKSClusterAdminPolicy", `{"type": "namespace", "namespaces": ["db"]}`, false, false},
		{"AmazonEKSAdminViewPolicy", `{"type": "cluster"}`, true, false},
		{"AmazonEKSAdminViewPolicy", `{"type": "namespace", "namespaces": ["db"]}`, false, false},
		{"AmazonEKSAutoNodePolicy", `{"type": "cluster"}`, false, false},
	} {
		let(tc.policy, tc.scope)
		if got := cloud.Allows("a", ops, look); got != tc.look {
			t.Errorf("%s in %s lets look: %t", tc.policy, tc.scope, got)
		}
		if got := cloud.Allows("a", ops, change); got != tc.change {
			t.Errorf("%s in %s lets change: %t", tc.policy, tc.scope, got)
		}
	}
}

// planes are API servers that take as long as is said.
type planes struct {
	ready bool
	err   error
	ran   []string
	ended int
}

func (p *planes) Run(cluster, version string) (awstest.Plane, bool, error) {
	p.ran = append(p.ran, cluster+" "+version)
	return awstest.Plane{Endpoint: "https://10.0.0.1:6443", CA: []byte("a CA")}, p.ready, p.err
}

func (p *planes) Stop(string) { p.ended++ }

// TestPlanes: a cluster is active once its API server is ready, has its endpoint, and fails as it does. So it is with another
// version.
func TestPlanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(planes)
		cloud := awstest.New(awstest.Options{Planes: p})
		c := newCaller(t, cloud)
		c.makeCluster(cloud, "a", `{"authenticationMode": "API"}`)
		is := func(want ...string) {
			t.Helper()
			got := c.eks(http.MethodGet, "clusters/a", "")
			for _, w := range want {
				if !strings.Contains(got, w) {
					t.Errorf("it is %s, want %s", got, w)
				}
			}
		}
		is(`"status":"CREATING"`)
		p.ready = true
		is(`"status":"ACTIVE"`, `"endpoint":"https://10.0.0.1:6443"`, `"data":"YSBDQQ=="`)
		p.ready = false
		c.eks(http.MethodPost, "clusters/a/updates", `{"version": "1.36"}`)
		is(`"status":"UPDATING"`, `"version":"1.35"`)
		p.err = errors.New("no such program")
		is(`"status":"ACTIVE"`, `"version":"1.35"`, "no such program", `"endpoint":"https://10.0.0.1:6443"`)
		p.ready, p.err = true, nil
		c.eks(http.MethodPost, "clusters/a/updates", `{"version": "1.36"}`)
		is(`"status":"ACTIVE"`, `"version":"1.36"`)
		c.eks(http.MethodDelete, "clusters/a", "")
		c.eks(http.MethodGet, "clusters/a", "")
		if p.ended != 1 || p.ran[0] != "a 1.35" || p.ran[len(p.ran)-1] != "a 1.36" {
			t.Errorf("it ran %q, and ended %d times", p.ran, p.ended)
		}
		p.err = errors.New("no such program")
		c.makeCluster(cloud, "a", `{}`)
		is(`"status":"FAILED"`, "no such program")
	})
}
