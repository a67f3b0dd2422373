package aws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/managed/eks"
	"fairlead.dev/providers/infrastructure/aws"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// The specs of machines that join a control plane of EKS.
const (
	workerPlane = `{accessConfig: {authenticationMode: api}, region: eu-central-1, version: v1.33.5, eksClusterName: prod_eu-1}`
	workerSpec  = `{instanceType: m6i.large, iamInstanceProfile: nodes, sshKeyName: ops, ami: {eksLookupType: AmazonLinux2023}}`
)

// employ gives the cluster a pool of machines with a spec.
func (w *managedWorld) employ(spec string, replicas int) {
	w.Helper()
	w.cloud.AddParameter("/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id", "ami-00000000000000002")
	w.cluster.Workers = []fleet.Pool{{
		Name: "eu-1-md-0", Role: fleet.RoleWorker, Replicas: replicas, Template: "1-md", Version: "v1.33.5", Infrastructure: object(w, "AWSMachineTemplate", "nodes", spec),
	}}
}

// hire asks for a machine, with what EKS gives.
func (w *managedWorld) hire(p fleet.Pool, name fleet.MachineName) error {
	w.Helper()
	seen, err := w.plane.Observe(w.Context(), &w.cluster, nil)
	if err != nil {
		return err
	}
	data, err := eks.Distribution{}.UserData(providers.BootstrapInput{
		Cluster: &w.cluster, Pool: p, Machine: name, Join: fleet.JoinWorker, Endpoint: seen.State.Endpoint, Secrets: seen.Secrets, NodeID: w.provider.NodeID(),
	})
	if err != nil {
		return err
	}
	return w.provider.CreateMachine(w.Context(), fleet.OperationID("op-"+name), providers.MachineRequest{
		Cluster: w.cluster.ServedAt(seen.State.Endpoint), Pool: p, Name: name, UserData: data, Endpoint: seen.State.Endpoint,
	})
}

// work asks for the next machine that is missing, and reports whether none is.
func (w *managedWorld) work(i fleet.Infrastructure) (done bool) {
	done = true
	for _, p := range w.cluster.Workers {
		for n := range p.Replicas {
			name := fleet.MachineName(fmt.Sprintf("%s-%d", p.Name, n))
			at := slices.IndexFunc(i.Machines, func(m fleet.Machine) bool { return m.Name == name })
			if at < 0 { // one at a time: the next look shows it
				w.say(w.hire(p, name))
				return false
			}
			done = done && at >= 0 && i.Machines[at].State == fleet.MachineRunning
		}
	}
	return done
}

// employed returns how many instances are machines of Fairlead.
func (w *managedWorld) employed() (n int) {
	for _, i := range w.cloud.Things(awstest.Instances) {
		if i.Tags[fleet.TagMachine] != "" && i.Attr["state"] != "terminated" {
			n++
		}
	}
	return n
}

// letIn returns the principals of the access entries that Fairlead made.
func (w *managedWorld) letIn() (out []string) {
	for _, e := range w.cloud.Things(awstest.AccessEntries) {
		if w.cluster.Owns(e.Tags) {
			out = append(out, e.Attr["principal"]+" "+e.Attr["type"])
		}
	}
	return out
}

// TestOwnWorkers: machines of Fairlead join a control plane of EKS, in its security group and by the access entry of their
// role, which goes with the last of them.
func TestOwnWorkers(t *testing.T) {
	inCluster(t, workerPlane, groupSpec, func(w *managedWorld) {
		w.cluster.KeptPools = nil
		w.employ(strings.Replace(workerSpec, "{", "{rootVolume: {size: 30}, ", 1), 3)
		before := w.cloud.Contents()
		w.rest()
		zones := make(map[string]bool)
		for _, i := range w.cloud.Things(awstest.Instances) {
			if err := w.cloud.Joined(i.ID); err != nil {
				t.Errorf("%s joins no cluster: %v", i.ID, err)
			}
			if i.Tags["kubernetes.io/cluster/prod_eu-1"] != "owned" {
				t.Errorf("it has the tags %v", i.Tags)
			}
			zones[i.Attr["zone"]] = true
		}
		_, seen := w.look()
		if len(zones) != 3 || len(seen.FailureDomains) != 3 || len(seen.Machines) != 3 || !seen.Exists {
			t.Errorf("zones %v, %+v", zones, seen)
		}
		if n := len(w.cloud.Things(awstest.StoredSecrets)); n > 0 {
			t.Errorf("%d secrets are stored", n)
		}
		const role = "arn:aws:iam::123456789012:role/nodes EC2_LINUX"
		if got := w.letIn(); !slices.Equal(got, []string{role}) {
			t.Errorf("entries %q", got)
		}
		w.cluster.Workers = nil
		if s, _ := w.look(); len(s.Drift) > 0 || !slices.Equal(w.letIn(), []string{role}) {
			t.Errorf("while machines are there, drift %q, entries %q", s.Drift, w.letIn())
		}
		for _, m := range seen.Machines {
			if err := w.provider.DeleteMachine(w.Context(), w.op(), &w.cluster, m.Name, m.ProviderID); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(settle)
		w.rest()
		if got := w.letIn(); len(got) > 0 {
			t.Errorf("entries %q", got)
		}
		w.cluster.Delete = true
		w.rest()
		if after := w.cloud.Contents(); !slices.Equal(after, before) {
			t.Errorf("left: %q", after)
		}
		if len(w.errs) > 0 {
			t.Errorf("errors: %v", w.errs)
		}
	})
}

// TestRoleOfGroups: the entry of a role stays while a node group has the role.
func TestRoleOfGroups(t *testing.T) {
	inCluster(t, workerPlane, strings.Replace(groupSpec, "{", "{roleName: nodes, ", 1), func(w *managedWorld) {
		pools := w.cluster.KeptPools
		w.cluster.KeptPools = nil
		w.employ(workerSpec, 1)
		w.rest()
		w.cluster.KeptPools = pools
		w.rest()
		w.cluster.Workers = nil
		_, seen := w.look()
		for _, m := range seen.Machines {
			w.say(w.provider.DeleteMachine(w.Context(), w.op(), &w.cluster, m.Name, m.ProviderID))
		}
		time.Sleep(settle)
		w.rest()
		if w.made("DeleteAccessEntry") > 0 {
			t.Error("machines of the node group are locked out")
		}
	})
}

// TestWorkersThatCannotJoin: what keeps machines from joining shows, and none is made.
func TestWorkersThatCannotJoin(t *testing.T) {
	for name, tc := range map[string]struct{ plane, machine, want string }{
		"no role":  {workerPlane, `{instanceType: m6i.large}`, "name the instance profile"},
		"Ignition": {workerPlane, `{instanceType: m6i.large, iamInstanceProfile: nodes, ignition: {storageType: UnencryptedUserData}}`, "nodeadm reads no Ignition"},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, tc.plane, groupSpec, func(w *managedWorld) {
				w.cluster.KeptPools = nil
				w.rest()
				w.employ(tc.machine, 1)
				w.look()
				wantKind(t, "a machine", w.hire(w.cluster.Workers[0], "m-0"), fleet.Invalid, tc.want)
				found, err := w.provider.Check(w.Context(), []*fleet.Cluster{&w.cluster})
				if err != nil || !slices.ContainsFunc(found, func(f providers.Finding) bool { return f.Err != nil && strings.Contains(f.Err.Error(), tc.want) }) {
					t.Errorf("a check finds %v, %v", found, err)
				}
				if w.employed() > 0 {
					t.Error("it is made")
				}
			})
		})
	}
	t.Run("by aws-auth", func(t *testing.T) {
		inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
			w.cluster.KeptPools = nil
			w.rest()
			w.employ(workerSpec, 1)
			if s, _ := w.look(); len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "set authenticationMode: api_and_config_map") {
				t.Errorf("drift %q", s.Drift)
			}
		})
	})
	t.Run("before the control plane", func(t *testing.T) {
		inCluster(t, workerPlane, groupSpec, func(w *managedWorld) {
			w.employ(workerSpec, 1)
			r := providers.MachineRequest{Cluster: &w.cluster, Pool: w.cluster.Workers[0], Name: "m-0", UserData: providers.UserData{Format: "nodeadm"}}
			wantKind(t, "a machine", w.provider.CreateMachine(w.Context(), "op", r), fleet.Conflict)
		})
	})
	t.Run("while the control plane goes", func(t *testing.T) {
		inCluster(t, workerPlane, groupSpec, func(w *managedWorld) {
			w.cluster.KeptPools = nil
			w.rest()
			w.employ(workerSpec, 1)
			seen, err := w.plane.Observe(w.Context(), &w.cluster, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.cloud.Edit(w.cloud.Things(awstest.ManagedClusters)[0].ID, func(k *awstest.Thing) { k.Attr["status"] = "DELETING" })
			r := providers.MachineRequest{Cluster: w.cluster.ServedAt(seen.State.Endpoint), Pool: w.cluster.Workers[0], Name: "m-0", UserData: providers.UserData{Format: "nodeadm"}}
			wantKind(t, "a machine", w.provider.CreateMachine(w.Context(), "op", r), fleet.Conflict)
			if w.employed() > 0 {
				t.Error("it is made")
			}
		})
	})
	t.Run("an image of EKS elsewhere", func(t *testing.T) {
		inBubble(t, clusterSpec, workerSpec, func(w *world) {
			w.settle()
			wantKind(t, "a machine", w.create("m-0", w.cluster.Workers[0], ""), fleet.Invalid, "join a control plane of EKS alone")
		})
	})
}

// TestImagesOfWorkers: the image is that of EKS for the version, the processor and the variant, unless Git names another.
func TestImagesOfWorkers(t *testing.T) {
	for spec, want := range map[string]string{
		`{instanceType: m6i.large, iamInstanceProfile: nodes}`:                                           "resolve:ssm:/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id",
		`{instanceType: m7g.large, iamInstanceProfile: nodes}`:                                           "resolve:ssm:/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/arm64/standard/recommended/image_id",
		`{instanceType: m6i.large, iamInstanceProfile: nodes, ami: {eksLookupType: AmazonLinux2023GPU}}`: "resolve:ssm:/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/nvidia/recommended/image_id",
		`{instanceType: m6i.large, iamInstanceProfile: nodes, ami: {id: ami-00000000000000002}}`:         "ami-00000000000000002",
		`{instanceType: m6i.large, iamInstanceProfile: nodes, imageLookupFormat: "capa-ami-flatcar-*"}`:  "ami-00000000000000003",
	} {
		inCluster(t, workerPlane, groupSpec, func(w *managedWorld) {
			w.cluster.KeptPools = nil
			w.rest()
			w.employ(spec, 1)
			w.cloud.AddParameter(strings.TrimPrefix(want, "resolve:ssm:"), "ami-00000000000000002")
			w.rest()
			if is := w.attr(awstest.Instances, "imageId"); is != want {
				t.Errorf("%s: the image is %s", spec, is)
			}
		})
	}
}

// TestLimitOfNodeadm: nodeadm reads nothing compressed, so that user data has to be small by itself.
func TestLimitOfNodeadm(t *testing.T) {
	for n, refused := range map[int]bool{16384: false, 16385: true} {
		err := aws.LimitUserData(providers.UserData{Format: "nodeadm", Content: fleet.NewSecret(make([]byte, n))})
		if (err != nil) != refused || refused && fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
