package aws_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/managed/eks"
	"fairlead.dev/providers/infrastructure/aws"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
	"fairlead.dev/test/run/kindstest"
	"fairlead.dev/test/run/short"
)

// The specs of most tests of EKS.
const (
	planeSpec = `{region: eu-central-1, version: v1.33.5, eksClusterName: prod_eu-1}`
	groupSpec = `{eksNodegroupName: prod_pool, instanceType: m6i.large, labels: {tier: web}}`
)

// setPlane gives c a control plane that EKS keeps, with a spec.
func setPlane(t testing.TB, c *fleet.Cluster, spec string) {
	t.Helper()
	normal, errs := kindstest.Normalised(t, api.ControlPlaneKinds()[0], "v1beta2", spec, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	m := normal.(*fleet.HostedManifest)
	data, err := json.Marshal(m.Spec)
	if err != nil {
		t.Fatal(err)
	}
	c.Hosted = &fleet.HostedControlPlane{Version: m.Version, Object: fleet.Object{
		GVK:  schema.GroupVersionKind{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: api.ManagedControlPlane},
		Name: "eu-1", Namespace: "prod", Spec: data,
	}}
}

// newManaged returns a cluster of EKS with a pool of two machines.
func newManaged(t testing.TB, plane, group string) fleet.Cluster {
	t.Helper()
	c := fleet.Cluster{
		Fleet: "fleet-a", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: api.ProviderName,
		Infrastructure: object(t, api.ManagedCluster, "eu-1", `{}`),
	}
	setPlane(t, &c, plane)
	c.KeptPools = []fleet.KeptPool{{Name: "pool", Count: 2, Version: c.Hosted.Version, Infrastructure: object(t, "AWSManagedMachinePool", "pool", group)}}
	return c
}

// A managedWorld is a cluster of EKS in a cloud, with an agent that may die.
type managedWorld struct {
	*testing.T
	cloud    *awstest.Cloud
	provider *aws.Provider
	plane    *aws.ControlPlane
	cluster  fleet.Cluster
	ops      int
	stable   bool // one operation for all, as for a definition of a planner
	errs     []error
}

// start starts an agent.
func (w *managedWorld) start(client *awstest.Client) {
	o := aws.Options{Cloud: cloud.Options{Tick: tick, Base: client, Own: own()}, Settle: settle, UserData: eks.NodegroupUserData}
	w.provider, w.plane = aws.New(o), aws.NewControlPlane(o)
}

// inCluster runs f with a cluster of EKS in a given VPC.
func inCluster(t *testing.T, plane, group string, f func(w *managedWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := slowly()
		vpc, _, _ := c.AddVPC("10.7.0.0/16")
		w := &managedWorld{T: t, cloud: c, cluster: newManaged(t, strings.Replace(plane, "{", "{network: {vpc: {id: "+vpc+"}}, ", 1), group)}
		w.start(c.Client())
		f(w)
	})
}

// change writes another spec of the control plane into Git.
func (w *managedWorld) change(old, with string) {
	w.Helper()
	text := strings.Replace(planeSpec, old, with, 1)
	var now struct {
		Network struct{ VPC struct{ ID string } }
	}
	if err := json.Unmarshal(w.cluster.Hosted.Object.Spec, &now); err != nil {
		w.Fatal(err)
	}
	if id := now.Network.VPC.ID; id != "" && !strings.Contains(text, "network:") {
		text = strings.Replace(text, "{", "{network: {vpc: {id: "+id+"}}, ", 1)
	}
	setPlane(w, &w.cluster, text)
}

func (w *managedWorld) op() fleet.OperationID {
	if w.stable {
		return "op"
	}
	w.ops++
	return fleet.OperationID(fmt.Sprint("op-", w.ops))
}

func (w *managedWorld) look() (fleet.HostedState, fleet.Infrastructure) {
	time.Sleep(2 * tick)
	seen, err := w.plane.Observe(w.Context(), &w.cluster, nil)
	if err != nil {
		w.errs = append(w.errs, err)
		return fleet.HostedState{Message: err.Error()}, fleet.Infrastructure{}
	}
	infra, err := w.provider.Observe(w.Context(), w.cluster.ServedAt(seen.State.Endpoint))
	if err != nil {
		w.errs = append(w.errs, err)
	}
	return seen.State, infra
}

// say notes an error.
func (w *managedWorld) say(err error) {
	if err != nil {
		w.errs = append(w.errs, err)
	}
}

// step does what a planner does next, and reports whether nothing is left to do.
func (w *managedWorld) step() (done bool) {
	s, i := w.look()
	c := &w.cluster
	if c.Delete {
		for _, m := range i.Machines {
			w.say(w.provider.DeleteMachine(w.Context(), w.op(), c, m.Name, m.ProviderID))
		}
		for _, p := range i.Pools {
			w.say(w.provider.DeletePool(w.Context(), w.op(), c, p.Name))
		}
		switch gone := len(i.Pools)+len(i.Machines) == 0; {
		case gone && i.Exists:
			w.say(w.provider.DeleteInfrastructure(w.Context(), w.op(), c))
		case gone && s.Exists:
			w.say(w.plane.Delete(w.Context(), w.op(), c))
		}
		return !i.Exists && len(i.Pools)+len(i.Machines) == 0 && !s.Exists && !strings.Contains(s.Message, "cut")
	}
	if !s.Ready || len(s.Drift) > 0 {
		w.say(w.plane.Ensure(w.Context(), w.op(), c))
		return false
	}
	done = w.work(i)
	for _, want := range c.KeptPools {
		at := slices.IndexFunc(i.Pools, func(p fleet.KeptPoolSeen) bool { return p.Name == want.Name })
		if at >= 0 {
			p := i.Pools[at]
			if p.State == fleet.KeptActive && p.Count == want.Count && p.Version == want.Version && len(p.Drift) == 0 && len(p.Machines) == p.Count {
				continue
			}
			if done = false; p.State != fleet.KeptActive && p.State != fleet.KeptFailed {
				continue
			}
		}
		done = false
		w.say(w.provider.EnsurePool(w.Context(), w.op(), c, want))
	}
	return done
}

// rest goes on until nothing is left to do.
func (w *managedWorld) rest() {
	w.Helper()
	for range 120 {
		if w.step() {
			return
		}
	}
	s, i := w.look()
	w.Fatalf("not at rest: %+v, pools %+v, errors %v", s, i.Pools, w.errs[max(0, len(w.errs)-3):])
}

// made returns how often something was made.
func (w *managedWorld) made(action string) (n int) {
	for _, call := range w.cloud.Calls() {
		if call.Action == action {
			n++
		}
	}
	return n
}

// attr returns an attribute of the only thing of a kind.
func (w *managedWorld) attr(k awstest.Kind, name string) string {
	w.Helper()
	all := w.cloud.Things(k)
	if len(all) != 1 {
		w.Fatalf("%d things of kind %s", len(all), k)
	}
	return all[0].Attr[name]
}

// TestManagedLife: a cluster of EKS is made in a given VPC with a node group, upgraded with it, and deleted. Nothing is left.
func TestManagedLife(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		before := w.cloud.Contents()
		w.rest()
		seen, err := w.plane.Observe(w.Context(), &w.cluster, nil)
		if err != nil || !seen.State.Ready || seen.State.Version != "v1.33.0" || seen.State.Endpoint.Port != 443 {
			w.Fatalf("%+v, %v", seen.State, err)
		}
		config := string(seen.Secrets[fleet.Kubeconfig][fleet.KubeconfigKey].Reveal())
		if !strings.Contains(config, `"get-token","--cluster-name","prod_eu-1"`) || strings.Contains(config, "k8s-aws-v1") || strings.Contains(config, awstest.SecretKey) {
			w.Errorf("the kubeconfig is %s", config)
		}
		if ca := string(seen.Secrets[fleet.ClusterCA][fleet.TLSCertKey].Reveal()); !strings.HasPrefix(ca, "CA of ") {
			w.Errorf("the CA is %q", ca)
		}
		if tags := w.cloud.Things(awstest.ManagedClusters)[0].Tags; !w.cluster.Owns(tags) || tags["Name"] != "eu-1-control-plane" {
			w.Errorf("the cluster was made with the tags %v", tags)
		}
		_, i := w.look()
		if !i.Ready || len(i.Machines) > 0 || len(i.Pools) != 1 || len(i.Pools[0].Machines) != 2 || !i.Places[0].Used || i.Places[0].ID != "account 123456789012 in eu-central-1" {
			w.Errorf("the infrastructure is %+v", i)
		}
		w.change("v1.33.5", "v1.34")
		w.cluster.KeptPools[0].Version = "v1.34.0"
		w.rest()
		if is := w.attr(awstest.ManagedClusters, "version") + " " + w.attr(awstest.Nodegroups, "version"); is != "1.34 1.34" {
			w.Errorf("versions are %s", is)
		}
		w.cluster.Delete = true
		w.rest()
		if after := w.cloud.Contents(); !slices.Equal(after, before) {
			w.Errorf("left: %q", after)
		}
		if len(w.errs) > 0 {
			w.Errorf("errors: %v", w.errs)
		}
		if n := w.made("CreateCluster") + w.made("CreateNodegroup"); n != 2 {
			w.Errorf("%d requests to make a cluster and a node group", n)
		}
	})
}

// TestManagedInItsOwnNetwork: without a VPC in Git one is made first, and deleted last, with the security group that EKS left.
func TestManagedInItsOwnNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := awstest.New(awstest.Options{LeaveGroups: true, Delays: awstest.Delays{Lag: 3 * time.Second, NAT: 20 * time.Second, Cluster: time.Minute, Nodegroup: time.Minute}})
		w := &managedWorld{T: t, cloud: c, cluster: newManaged(t, planeSpec, groupSpec)}
		w.start(c.Client())
		found, err := w.provider.Check(t.Context(), []*fleet.Cluster{&w.cluster})
		for _, f := range found { // what is to be made is not missing
			if f.Err != nil {
				t.Errorf("%s %s: %v", f.What, f.Text, f.Err)
			}
		}
		if err != nil || len(found) < 3 {
			t.Errorf("%d findings, %v", len(found), err)
		}
		w.rest()
		private := 0
		for _, s := range c.Things(awstest.Subnets) {
			if s.Tags["kubernetes.io/cluster/prod_eu-1"] != "shared" {
				t.Errorf("subnet %s has the tags %v", s.ID, s.Tags)
			}
			private++
		}
		if private != 6 {
			t.Errorf("%d subnets", private)
		}
		w.cluster.Delete = true
		w.rest()
		if left := c.Contents(); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}

// TestManagedSweep: an agent that dies at any call, before or after AWS carries it out, makes no second cluster and no second
// node group, and the next one brings all to the same end.
func TestManagedSweep(t *testing.T) {
	// Machines join by access entries.
	sweptSpec := strings.Replace(planeSpec, "{", "{associateOIDCProvider: true, accessConfig: {authenticationMode: api_and_config_map}, ", 1)
	const sweptGroup = `{eksNodegroupName: prod_pool, labels: {tier: web}, awsLaunchTemplate: {instanceType: m6i.large, rootVolume: {size: 30}}}`
	changes := 0
	live := func(w *managedWorld, client *awstest.Client) {
		rest := func() {
			w.Helper()
			for range 200 {
				if client.Dead() {
					client = w.cloud.Client()
					w.start(client)
				}
				done := w.step()
				if w.employed() > 1 || len(w.cloud.Things(awstest.Addons)) > 1 || len(w.cloud.Things(awstest.ManagedClusters)) > 1 || len(w.cloud.Things(awstest.Nodegroups)) > 1 || len(w.cloud.Things(awstest.LaunchTemplates)) > 1 {
					w.Fatal("there are two")
				}
				if done && !client.Dead() {
					return
				}
			}
			w.Fatalf("not at rest: %v", w.errs)
		}
		rest()
		w.change("v1.33.5", "v1.34, associateOIDCProvider: true, "+identityProvider+"accessConfig: {authenticationMode: api_and_config_map}, accessEntries: [{principalARN: 'arn:aws:iam::123456789012:role/ops'}], addons: [{name: vpc-cni, version: v1.34.0-eksbuild.1, preserveOnDelete: true}]")
		w.cluster.KeptPools[0].Version = "v1.34.0"
		w.cluster.KeptPools[0].Count = 3
		for _, size := range []string{"31", "32"} {
			w.group(strings.Replace(sweptGroup, "size: 30", "size: "+size, 1))
			rest()
		}
		if x, version := w.template(); version != "3" || len(w.cloud.TemplateVersions(x.ID)) != 3 {
			w.Errorf("the node group has version %s of its launch template, of %v", version, w.cloud.TemplateVersions(x.ID))
		}
		if is := w.attr(awstest.ManagedClusters, "version") + w.attr(awstest.ManagedClusters, "mode") + w.attr(awstest.Nodegroups, "version") + w.attr(awstest.Nodegroups, "desiredSize") + w.attr(awstest.Addons, "version"); is != "1.34API_AND_CONFIG_MAP1.343v1.34.0-eksbuild.1" {
			w.Errorf("the end is %s", is)
		}
		w.change("v1.33.5", "v1.34, associateOIDCProvider: true, "+strings.Replace(identityProvider, "fairlead", "people", 1)+"accessConfig: {authenticationMode: api_and_config_map}, addons: [{name: vpc-cni, version: v1.34.0-eksbuild.2, preserveOnDelete: true}]")
		rest()
		if is := w.attr(awstest.Addons, "version") + w.attr(awstest.IdentityProviders, "oidc.clientId"); is != "v1.34.0-eksbuild.2people" {
			w.Errorf("the addon and the identity provider have %s", is)
		}
		w.change("v1.33.5", "v1.34, accessConfig: {authenticationMode: api_and_config_map}")
		rest()
		if left := slices.Concat(w.cloud.Things(awstest.Trusts), w.cloud.Things(awstest.IdentityProviders)); len(left) > 0 {
			w.Errorf("OIDC providers that left Git: %v", left)
		}
		w.change("v1.33.5", "v1.34, associateOIDCProvider: true, accessConfig: {authenticationMode: api_and_config_map}")
		rest()
		time.Sleep(time.Minute)
		if preserved := w.cloud.Things(awstest.ManagedClusters)[0].Sets["preserved"]; len(w.cloud.Things(awstest.Addons)) > 0 || !slices.Equal(preserved, []string{"vpc-cni"}) {
			w.Errorf("addons %v, preserved %q", w.cloud.Things(awstest.Addons), preserved)
		}
		w.cluster.Delete = true
		rest()
		for _, k := range []awstest.Kind{awstest.ManagedClusters, awstest.Nodegroups, awstest.LaunchTemplates, awstest.Addons, awstest.Trusts} {
			if left := w.cloud.Things(k); len(left) > 0 {
				w.Errorf("left: %v", left)
			}
		}
	}
	inCluster(t, sweptSpec, sweptGroup, func(w *managedWorld) {
		w.employ(workerSpec, 1)
		client := w.cloud.Client()
		w.start(client)
		live(w, client)
		changes = client.Changes()
	})
	if changes < 8 {
		t.Fatalf("only %d changes", changes)
	}
	calls := make([]int, changes)
	for i := range calls {
		calls[i] = i + 1
	}
	for _, n := range short.Of(t, 10, calls) {
		for name, cut := range map[string]awstest.Cut{"before": awstest.Before, "after": awstest.After} {
			t.Run(fmt.Sprintf("%s call %d", name, n), func(t *testing.T) {
				inCluster(t, sweptSpec, sweptGroup, func(w *managedWorld) {
					w.employ(workerSpec, 1)
					client := w.cloud.Client()
					client.DieAtChange(n, cut)
					w.start(client)
					live(w, client)
				})
			})
		}
	}
}

// TestManagedTraps are the traps of EKS.
func TestManagedTraps(t *testing.T) {
	t.Run("a cluster of others has the name", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.rest()
			w.cluster.Fleet = "fleet-b"
			s, i := w.look()
			if s.Exists || s.Ready || !strings.Contains(s.Message, "without the tags of this cluster") || len(i.Pools) != 0 && i.Pools[0].Damaged == "" {
				t.Errorf("%+v", s)
			}
			wantKind(t, "the cluster of others", w.plane.Ensure(w.Context(), "op", &w.cluster), fleet.Conflict, "set another eksClusterName")
			w.cluster.Delete = true
			if err := w.plane.Delete(w.Context(), "op", &w.cluster); err != nil || w.attr(awstest.ManagedClusters, "status") != "ACTIVE" {
				t.Errorf("the cluster of others is %s, %v", w.attr(awstest.ManagedClusters, "status"), err)
			}
		})
	})
	t.Run("another name in Git makes no second cluster", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.rest()
			w.change("prod_eu-1", "another")
			s, i := w.look()
			if !s.Ready || len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "set eksClusterName: prod_eu-1") || len(i.Pools) != 1 {
				t.Errorf("%+v, %+v", s, i.Pools)
			}
			wantKind(t, "another name", w.plane.Ensure(w.Context(), "op", &w.cluster), fleet.Invalid, "prod_eu-1")
			if w.made("CreateCluster") != 1 {
				t.Error("a second cluster was asked for")
			}
		})
	})
	t.Run("another account", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.rest()
			w.cluster.Residence = fleet.Residence{Provider: "aws", Places: []fleet.Place{{ID: "account 999 in eu-central-1"}}}
			_, err := w.plane.Observe(w.Context(), &w.cluster, nil)
			wantKind(t, "another account", err, fleet.Unauthorized, "a cluster cannot move")
			wantKind(t, "another account", w.plane.Ensure(w.Context(), "op", &w.cluster), fleet.Unauthorized)
			wantKind(t, "another account", w.plane.Delete(w.Context(), "op", &w.cluster), fleet.Unauthorized)
		})
	})
	t.Run("the VPC stays", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.rest()
			vpc, _, _ := w.cloud.AddVPC("10.8.0.0/16")
			for with, want := range map[string]string{"{": "which Git named before, and cannot leave it", "{network: {vpc: {id: " + vpc + "}}, ": "cannot move to " + vpc} {
				setPlane(w, &w.cluster, strings.Replace(planeSpec, "{", with, 1))
				if s, i := w.look(); !s.Ready || len(s.Drift) != 1 || !strings.Contains(s.Drift[0], want) || len(i.Pools) != 1 || len(i.Pools[0].Fixed) > 0 {
					t.Errorf("%+v, %+v", s, i.Pools)
				}
				wantKind(t, "another network", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Invalid, want)
			}
			if n := w.made("CreateVpc") + w.made("UpdateClusterConfig"); n > 0 {
				t.Errorf("%d changes were asked for", n)
			}
		})
	})
	t.Run("versions", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.rest()
			w.change("v1.33.5", "v1.35")
			wantKind(t, "two minor versions", w.plane.Ensure(w.Context(), "op", &w.cluster), fleet.Invalid, "one minor version at a time", "v1.34")
			w.change("v1.33.5", "v1.32")
			wantKind(t, "an older version", w.plane.Ensure(w.Context(), "op", &w.cluster), fleet.Invalid, "does not go back")
			w.change("v1.33.5", "v1.33.9")
			if s, _ := w.look(); len(s.Drift) > 0 {
				t.Errorf("another patch version is drift: %q", s.Drift)
			}
			if w.made("UpdateClusterVersion") != 0 {
				t.Error("a version was asked for")
			}
		})
	})
	t.Run("AWS upgrades by itself", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.rest()
			w.cloud.Edit(w.cloud.Things(awstest.ManagedClusters)[0].ID, func(k *awstest.Thing) { k.Attr["version"] = "1.34" })
			s, _ := w.look()
			if s.Version != "v1.34.0" || len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "set version: v1.34") {
				t.Errorf("%+v", s)
			}
			_ = w.plane.Ensure(w.Context(), "op", &w.cluster)
			if w.made("UpdateClusterVersion") != 0 {
				t.Error("a version was asked for")
			}
		})
	})
	t.Run("what has no way back", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.change("{", `{accessConfig: {authenticationMode: api}, encryptionConfig: {provider: "arn:aws:kms:eu-central-1:123456789012:key/a"}, logging: {apiServer: true, audit: true, authenticator: false, controllerManager: false, scheduler: false}, endpointAccess: {private: true, publicCIDRs: [192.0.2.0/24]}, upgradePolicy: standard, `)
			w.rest()
			w.change("{", "{")
			s, _ := w.look()
			for _, want := range []string{"does not go back to config_map", "are encrypted with arn:aws:kms", "logging [api, audit] → []", "endpointAccess"} {
				if !strings.Contains(strings.Join(s.Drift, "\n"), want) {
					t.Errorf("%q does not say %q", s.Drift, want)
				}
			}
			for range 20 {
				_ = w.plane.Ensure(w.Context(), w.op(), &w.cluster)
				time.Sleep(2 * tick)
			}
			if got := w.attr(awstest.ManagedClusters, "mode") + w.attr(awstest.ManagedClusters, "publicAccessCidrs") + w.attr(awstest.ManagedClusters, "support"); got != `API["0.0.0.0/0"]STANDARD` {
				t.Errorf("the cluster has %s", got)
			}
			if s, _ := w.look(); len(s.Drift) != 2 {
				t.Errorf("what is left is %q", s.Drift)
			}
		})
	})
	t.Run("one change at a time", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.rest()
			w.change("v1.33.5", "v1.34, upgradePolicy: standard, accessConfig: {authenticationMode: api}, logging: {apiServer: true, audit: false, authenticator: false, controllerManager: false, scheduler: false}")
			w.cluster.KeptPools[0].Version = "v1.34.0"
			end := w.cloud.Inject(awstest.Fault{Action: "UpdateClusterVersion", Times: 2, Status: http.StatusConflict, Code: "ResourceInUseException", Message: "Cannot update while ACTIVE"})
			err := w.plane.Ensure(w.Context(), w.op(), &w.cluster)
			wantKind(t, "a change while EKS is busy", err, fleet.Unavailable, "EKS takes no change now")
			w.rest()
			end()
			var order []string
			for _, call := range w.cloud.Calls() {
				if strings.HasPrefix(call.Action, "UpdateCluster") {
					order = append(order, call.Action)
				}
			}
			if got := strings.Join(order[2:], " "); got != "UpdateClusterVersion UpdateClusterConfig UpdateClusterConfig UpdateClusterConfig UpdateClusterConfig" {
				t.Errorf("changes are %s", got)
			}
		})
	})
	t.Run("what is there already is no error", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.rest()
			w.change("v1.33.5", "v1.34")
			w.cloud.Inject(awstest.Fault{Action: "UpdateClusterVersion", Times: 1, Status: http.StatusBadRequest, Code: "InvalidParameterException", Message: "Cluster is already at the desired configuration with version: 1.34"})
			if err := w.plane.Ensure(w.Context(), w.op(), &w.cluster); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("a cluster that cannot be made", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.rest()
			w.cloud.Edit(w.cloud.Things(awstest.ManagedClusters)[0].ID, func(k *awstest.Thing) {
				k.Attr["status"], k.Attr["issues"] = "FAILED", `[{"code":"Ec2SubnetNotFound","message":"We couldn't find one of the subnets","resourceIds":["subnet-1"]}]`
			})
			wantKind(t, "a failed cluster", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Invalid, "Ec2SubnetNotFound", "subnet-1", "delete the cluster in AWS")
		})
	})
	t.Run("rights", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.cloud.Deny("CreateCluster", true)
			w.look()
			wantKind(t, "a missing right", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Unauthorized, "(allow eks:CreateCluster in the policy")
		})
	})
	t.Run("no control plane of EKS", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.cluster.Hosted = nil
			_, err := w.provider.Observe(w.Context(), &w.cluster)
			wantKind(t, "an AWSManagedCluster alone", err, fleet.Invalid, "needs an AWSManagedControlPlane")
			w.cluster = newManaged(t, planeSpec, groupSpec)
			w.cluster.Infrastructure = object(t, "AWSCluster", "eu-1", `{region: eu-central-1}`)
			_, err = w.plane.Observe(w.Context(), &w.cluster, nil)
			wantKind(t, "an AWSCluster", err, fleet.Invalid, "needs an AWSManagedCluster")
		})
	})
}

// TestAccessEntries: entries of Git are made, changed and taken away; those of EKS and of people stay.
func TestAccessEntries(t *testing.T) {
	const entries = `{accessConfig: {authenticationMode: api}, accessEntries: [{principalARN: "arn:aws:iam::123456789012:role/ops", kubernetesGroups: [ops], accessPolicies: [
		{policyARN: "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy", accessScope: {type: namespace, namespaces: [b, a]}}]}], `
	inCluster(t, strings.Replace(planeSpec, "{", entries, 1), groupSpec, func(w *managedWorld) {
		w.rest()
		all := func() string {
			var out []string
			for _, e := range w.cloud.Things(awstest.AccessEntries) {
				out = append(out, e.Attr["principal"]+" "+strings.Join(e.Sets["groups"], ",")+" "+e.Attr["policies"])
			}
			slices.Sort(out)
			return strings.Join(out, "\n")
		}
		const creator = `arn:aws:iam::123456789012:user/fairlead  [{"accessScope":{"type":"cluster"},"policyArn":"arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"}]`
		const nodes = "\narn:aws:iam::123456789012:role/eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io  "
		if got, want := all(), nodes[1:]+"\narn:aws:iam::123456789012:role/ops ops "+
			`[{"accessScope":{"namespaces":["a","b"],"type":"namespace"},"policyArn":"arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"}]`+"\n"+creator; got != want {
			t.Errorf("entries are\n%s\nwant\n%s", got, want)
		}
		w.change("{", strings.Replace(strings.Replace(entries, "kubernetesGroups: [ops]", "kubernetesGroups: [admins]", 1), "AmazonEKSViewPolicy", "AmazonEKSEditPolicy", 1))
		w.rest()
		if got := all(); !strings.Contains(got, "role/ops admins ") || !strings.Contains(got, "AmazonEKSEditPolicy") || strings.Contains(got, "AmazonEKSViewPolicy") {
			t.Errorf("entries are\n%s", got)
		}
		w.change("{", `{accessConfig: {authenticationMode: api}, `)
		w.rest()
		if got, want := all(), nodes[1:]+"\n"+creator; got != want {
			t.Errorf("entries are\n%s\nwant\n%s", got, want)
		}
	})
}

// TestManagedTokens: tokens are made without a request, let in the agent to its own cluster alone, and are not given twice.
func TestManagedTokens(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.cloud.Forget()
		tokens := providers.TokensOf(w.plane, &w.cluster)
		one, err := tokens(w.Context(), fleet.Secret{})
		if err != nil {
			t.Fatal(err)
		}
		text := string(one.Value.Reveal())
		if who, err := w.cloud.Authenticate("prod_eu-1", text, time.Now().Add(14*time.Minute)); err != nil || who != "arn:aws:iam::123456789012:user/fairlead" {
			t.Errorf("the token is of %q, %v", who, err)
		}
		if _, err := w.cloud.Authenticate("another", text, time.Now()); err == nil {
			t.Error("the token is good for another cluster")
		}
		if left := time.Until(one.NotAfter); left != 15*time.Minute {
			t.Errorf("the token is said to be good for %s", left)
		}
		two, err := tokens(w.Context(), one.Value)
		if err != nil || string(two.Value.Reveal()) == text {
			t.Errorf("the token that was refused is given again, %v", err)
		}
		if calls := w.cloud.Calls(); len(calls) > 0 {
			t.Errorf("requests: %v", calls)
		}
		w.cluster.Companions = []fleet.Object{object(t, "AWSClusterRoleIdentity", "a", `{allowedNamespaces: {}, durationSeconds: 900, roleARN: "arn:aws:iam::123456789012:role/a", sourceIdentityRef: {kind: AWSClusterControllerIdentity, name: default}}`)}
		w.change("{", "{identityRef: {kind: AWSClusterRoleIdentity, name: a}, ")
		role, err := tokens(w.Context(), fleet.Secret{})
		if err != nil {
			t.Fatal(err)
		}
		if who, err := w.cloud.Authenticate("prod_eu-1", string(role.Value.Reveal()), time.Now()); err != nil || !strings.Contains(who, "assumed-role/a/") {
			t.Errorf("the token is of %q, %v", who, err)
		}
	})
}

// TestNodegroups are the traps of node groups.
func TestNodegroups(t *testing.T) {
	t.Run("what is changed, and what is fixed", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.rest()
			pool := &w.cluster.KeptPools[0]
			pool.NodeLabels, pool.Taints = map[string]string{"node-role.kubernetes.io/web": ""}, []clusterv1.MachineTaint{{Key: "web", Effect: "NoSchedule"}}
			pool.Infrastructure = object(t, "AWSManagedMachinePool", "pool", `{eksNodegroupName: prod_pool, instanceType: m6i.xlarge, diskSize: 50, labels: {tier: db}, updateConfig: {maxUnavailable: 2}, additionalTags: {team: web},
				taints: [{key: gpu, value: "yes", effect: prefer-no-schedule}], nodeRepairConfig: {enabled: true}, scaling: {minSize: 1, maxSize: 5}}`)
			_, i := w.look()
			if got := strings.Join(i.Pools[0].Drift, "|"); got != "bounds of the number of machines 2–2 → 1–5|labels of its nodes differ|nodeRepairConfig differs|tags differ: team|taints of its nodes differ|updateConfig differs" {
				t.Errorf("drift %s", got)
			}
			if got := strings.Join(i.Pools[0].Fixed, "|"); !strings.Contains(got, "diskSize 20 → 50; a node group keeps") || !strings.Contains(got, "instanceType m6i.large → m6i.xlarge") {
				t.Errorf("fixed %s", got)
			}
			w.rest()
			g := w.cloud.Things(awstest.Nodegroups)[0]
			if got := g.Attr["labels"] + g.Attr["taints"] + g.Attr["update"] + g.Attr["repair"] + g.Attr["minSize"] + g.Attr["maxSize"] + g.Tags["team"]; got !=
				`{"node-role.kubernetes.io/web":"","tier":"db"}[{"effect":"PREFER_NO_SCHEDULE","key":"gpu","value":"yes"},{"effect":"NO_SCHEDULE","key":"web"}]{"maxUnavailable":2}{"enabled":true}15web` {
				t.Errorf("the node group is %s", got)
			}
			if n := w.made("UpdateNodegroupConfig"); n != 1 {
				t.Errorf("%d changes, want one", n)
			}
			pool.Taints, pool.NodeLabels = nil, nil
			w.rest()
			if g := w.cloud.Things(awstest.Nodegroups)[0]; strings.Contains(g.Attr["labels"]+g.Attr["taints"], "web") {
				t.Errorf("the node group keeps %s %s", g.Attr["labels"], g.Attr["taints"])
			}
		})
	})
	t.Run("the number is the autoscaler's", func(t *testing.T) { // CAPA 5746, 4134
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			pool := &w.cluster.KeptPools[0]
			pool.Range = &fleet.PoolRange{Min: 1, Max: 5}
			w.rest()
			w.cloud.Edit(w.cloud.Things(awstest.Nodegroups)[0].ID, func(g *awstest.Thing) { g.Attr["desiredSize"] = "4" })
			_, i := w.look()
			if p := i.Pools[0]; p.Count != 4 || !p.Range.Is(pool.Range) || len(p.Drift) > 0 {
				t.Errorf("the pool is %+v", p)
			}
			if err := w.provider.EnsurePool(w.Context(), "op", &w.cluster, *pool); err != nil || w.made("UpdateNodegroupConfig") > 0 {
				t.Errorf("the number is changed, %v", err)
			}
			pool.Range = &fleet.PoolRange{Min: 1, Max: 3}
			if err := w.provider.EnsurePool(w.Context(), "op", &w.cluster, *pool); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			w.look()
			if n := w.attr(awstest.Nodegroups, "desiredSize"); n != "3" {
				t.Errorf("beyond its range the number becomes %s", n)
			}
		})
	})
	t.Run("one that cannot be made", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.cloud.FailNodegroups("Instances failed to join the kubernetes cluster")
			for range 60 {
				if _, i := w.look(); len(i.Pools) == 1 && i.Pools[0].State == fleet.KeptFailed {
					break
				}
				w.step()
			}
			_, i := w.look()
			if p := i.Pools[0]; p.State != fleet.KeptFailed || p.Message != "CREATE_FAILED: NodeCreationFailure: Instances failed to join the kubernetes cluster (i-1)" {
				t.Fatalf("the pool is %+v", p)
			}
			w.cloud.FailNodegroups("")
			w.cluster.KeptPools[0].Count = 3
			w.rest()
			if n := w.attr(awstest.Nodegroups, "desiredSize"); n != "3" {
				t.Errorf("the next try has %s machines", n)
			}
		})
	})
	t.Run("one of others", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.rest()
			id := w.cloud.Things(awstest.Nodegroups)[0].ID
			w.cloud.Edit(id, func(g *awstest.Thing) { g.Tags = map[string]string{} })
			_, i := w.look()
			if len(i.Pools) != 1 || i.Pools[0].Damaged == "" || i.Pools[0].Name != "pool" {
				t.Errorf("pools %+v", i.Pools)
			}
			wantKind(t, "a node group of others", w.provider.EnsurePool(w.Context(), "op", &w.cluster, w.cluster.KeptPools[0]), fleet.Conflict, "without the tags")
			if err := w.provider.DeletePool(w.Context(), "op", &w.cluster, "pool"); err != nil || w.attr(awstest.Nodegroups, "status") != "ACTIVE" {
				t.Errorf("it is %s, %v", w.attr(awstest.Nodegroups, "status"), err)
			}
			w.cluster.Delete = true
			wantKind(t, "a cluster with a node group", w.plane.Delete(w.Context(), "op", &w.cluster), fleet.Conflict, "prod_pool")
		})
	})
	t.Run("subnets", func(t *testing.T) {
		inCluster(t, planeSpec, `{eksNodegroupName: prod_pool, availabilityZones: [eu-central-1b]}`, func(w *managedWorld) {
			w.rest()
			for _, i := range w.cloud.Things(awstest.Instances) {
				if i.Attr["zone"] != "eu-central-1b" {
					t.Errorf("a machine is in %s", i.Attr["zone"])
				}
			}
			w.cluster.KeptPools[0].Infrastructure = object(t, "AWSManagedMachinePool", "pool", `{eksNodegroupName: other, availabilityZones: [eu-central-1x]}`)
			w.cluster.KeptPools[0].Name = "other"
			wantKind(t, "a zone without subnets", w.provider.EnsurePool(w.Context(), "op", &w.cluster, w.cluster.KeptPools[0]), fleet.Invalid, "eu-central-1x")
		})
	})
}

// TestManagedOrphans: a cluster of EKS that left Git is listed, and goes with its node groups.
func TestManagedOrphans(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		if all, err := w.provider.Clusters(w.Context(), "fleet-a"); err != nil || len(all) != 1 || all[0] != w.cluster.Key {
			t.Errorf("clusters %v, %v", all, err)
		}
		other := w.cluster
		other.Key.Name = "another"
		git := []*fleet.Cluster{&other}
		for n := range 10 {
			lost, err := w.provider.Orphans(w.Context(), "fleet-a", git)
			if err != nil {
				t.Fatal(err)
			}
			if len(lost) == 0 && n > 1 {
				break
			}
			if n == 0 && (len(lost) != 1 || lost[0].Kind != "cluster of EKS" || lost[0].Name != "prod_eu-1") {
				t.Errorf("orphans %+v", lost)
			}
			for _, o := range lost {
				if err := w.provider.RemoveOrphan(w.Context(), "fleet-a", git, o); err != nil && fleet.KindOf(err) != fleet.Unavailable {
					t.Fatal(err)
				}
			}
			time.Sleep(2 * time.Minute)
		}
		if left := len(w.cloud.Things(awstest.ManagedClusters)) + len(w.cloud.Things(awstest.Nodegroups)); left > 0 {
			t.Errorf("%d things are left", left)
		}
	})
}

// TestRightsForMachinesAlone: an account that may not list clusters of EKS has its other clusters and orphans listed. Where
// a cluster of EKS is in Git, the permission that lacks is told, beside them.
func TestRightsForMachinesAlone(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.cloud.Deny("ListClusters", true)
		time.Sleep(2 * tick)
		if all, err := w.provider.Clusters(w.Context(), "fleet-a"); err != nil || len(all) != 1 {
			t.Errorf("clusters %v, %v", all, err)
		}
		other := w.cluster
		other.Key.Name = "another"
		lost, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other})
		if err != nil || len(lost) == 0 {
			t.Errorf("orphans %v, %v", lost, err)
		}
		managed := newManaged(t, planeSpec, groupSpec)
		managed.Key.Name = "managed"
		lost, err = w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other, &managed})
		wantKind(t, "Orphans beside a cluster of EKS", err, fleet.Unauthorized, "eks:ListClusters")
		if len(lost) == 0 {
			t.Error("other orphans are not listed")
		}
	})
}
