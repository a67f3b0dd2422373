package aws_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

const (
	ignitionSpec  = `{instanceType: m6i.large, iamInstanceProfile: nodes, sshKeyName: ops, ignition: {proxy: {httpsProxy: "http://proxy:3128", noProxy: [169.254.169.254]}, tls: {certificateAuthorities: ["data:,ca"]}}}`
	parameterSpec = `{instanceType: m6i.large, iamInstanceProfile: nodes, sshKeyName: ops, cloudInit: {secureSecretsBackend: ssm-parameter-store}}`
	bucketSpec    = `{s3Bucket: {name: user-data, controlPlaneIAMInstanceProfile: cps, nodesIAMInstanceProfiles: [nodes, others]}, region: eu-central-1, controlPlaneLoadBalancer: {loadBalancerType: nlb, healthCheckProtocol: HTTPS}}`
)

// createWith asks for a machine that boots with content.
func (w *world) createWith(name fleet.MachineName, pool fleet.Pool, format, content string) error {
	return w.provider.CreateMachine(w.Context(), fleet.OperationID("op-"+name), providers.MachineRequest{
		Cluster: &w.cluster, Pool: pool, Name: name, UserData: providers.UserData{Format: format, Content: fleet.NewSecret([]byte(content))},
	})
}

// userDataOf returns the user data of the instance of a machine.
func (w *world) userDataOf(name string) string {
	w.Helper()
	data, err := base64.StdEncoding.DecodeString(w.instances()[name].Attr["userData"])
	if err != nil || len(data) == 0 {
		w.Fatalf("user data of %s: %q, %v", name, data, err)
	}
	return string(data)
}

// count returns how many things of a kind there are.
func (w *world) count(k awstest.Kind) int { return len(w.cloud.Things(k)) }

// large is a configuration of Ignition that no user data holds.
var large = `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/key","contents":{"source":"data:,` + strings.Repeat("secret", 10_000) + `"}}]}}`

// TestBucket: a bucket is made for the cluster, instances read what is for their role by their own rights, and both go.
func TestBucket(t *testing.T) {
	inBubble(t, bucketSpec, ignitionSpec, func(w *world) {
		w.settle()
		for name, pool := range map[fleet.MachineName]fleet.Pool{"cp-0": w.cluster.ControlPlane, "m-0": w.cluster.Workers[0]} {
			if err := w.createWith(name, pool, "ignition", large); err != nil {
				w.Fatal(err)
			}
		}
		time.Sleep(settle)
		const path = "fairlead/fleet-a/prod/eu-1/"
		data := w.userDataOf("m-0")
		want := regexp.MustCompile(`^\{"ignition":\{"config":\{"merge":\[\{"source":"s3://user-data/` + path + `node/m-0/[0-9a-f]{8}"\}\]\},"proxy":\{"httpsProxy":"http://proxy:3128","noProxy":\["169.254.169.254"\]\},` +
			`"security":\{"tls":\{"certificateAuthorities":\[\{"source":"data:,ca"\}\]\}\},"version":"3.4.0"\}\}$`)
		if !want.MatchString(data) {
			w.Errorf("user data is\n%s", data)
		}
		for _, o := range w.cloud.Things(awstest.Objects) {
			if o.Attr["content"] != large {
				w.Errorf("%s has %d bytes", o.ID, len(o.Attr["content"]))
			}
		}
		b := w.cloud.Things(awstest.Buckets)[0]
		for _, rule := range []string{
			`{"Action":"s3:GetObject","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::123456789012:role/cps"},"Resource":"arn:aws:s3:::user-data/` + path + `control-plane/*"`,
			`{"Action":"s3:GetObject","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::123456789012:role/others"},"Resource":"arn:aws:s3:::user-data/` + path + `node/*"`,
			`"Condition":{"Bool":{"aws:SecureTransport":"false"}},"Effect":"Deny"`,
		} {
			if !strings.Contains(b.Attr["policy"], rule) {
				w.Errorf("the policy lacks %s:\n%s", rule, b.Attr["policy"])
			}
		}
		w.cloud.Edit(b.ID, func(b *awstest.Thing) { b.Attr["policy"] = "{}" })
		if drift := strings.Join(w.observe().Drift, "\n"); !strings.Contains(drift, "set the policy of bucket user-data") {
			w.Errorf("drift is %q", drift)
		}
		w.settle()

		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, "m-0", ""); err != nil {
			w.Fatal(err)
		}
		if n := w.count(awstest.Objects); n != 1 {
			w.Errorf("%d objects, want that of cp-0", n)
		}
		time.Sleep(31 * time.Minute)
		w.settle()
		if n := w.count(awstest.Objects); n != 0 {
			w.Errorf("%d objects of a machine that runs", n)
		}
		w.cloud.AddObject("user-data", "theirs")
		w.cluster.Delete = true
		for range 40 {
			time.Sleep(settle)
			_ = w.provider.DeleteMachine(w.Context(), "op", &w.cluster, "cp-0", "")
			_ = w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster)
		}
		if got := w.observe(); !got.Exists || !strings.Contains(got.Message, "BucketNotEmpty") {
			w.Errorf("with an object of others the cluster exists %t: %q", got.Exists, got.Message)
		}
		w.cloud.Remove("arn:aws:s3:::user-data/theirs")
		w.dismantle()
		if left := w.cloud.Contents(); len(left) > 0 {
			w.Errorf("left over: %q", left)
		}
	})
}

// TestGivenBucket: of a bucket that is there nothing is changed but the objects of machines, and it stays.
func TestGivenBucket(t *testing.T) {
	inBubble(t, bucketSpec, ignitionSpec, func(w *world) {
		w.cloud.AddBucket("user-data", false)
		w.cloud.AddObject("user-data", "fairlead/fleet-a/prod/eu-10/node/m-0/0")
		w.settle()
		if err := w.createWith("m-0", w.cluster.Workers[0], "ignition", large); err != nil {
			w.Fatal(err)
		}
		time.Sleep(31 * time.Minute)
		w.settle()
		w.dismantle("m-0")
		if left := w.cloud.Contents(); len(left) != 1 || !strings.HasSuffix(left[0], "eu-10/node/m-0/0") {
			w.Errorf("there is %q, want the object of another cluster", left)
		}
		for _, call := range w.cloud.Calls() {
			if slices.Contains([]string{"CreateBucket", "PutBucketPolicy", "DeleteBucket"}, call.Action) {
				w.Errorf("%s was called", call.Action)
			}
		}
	})
}

// TestBucketOfOthers: that a bucket may not be read is told, and the cluster goes on.
func TestBucketOfOthers(t *testing.T) {
	inBubble(t, bucketSpec, ignitionSpec, func(w *world) {
		w.cloud.AddBucket("user-data", true)
		w.cloud.OpenBucket("user-data")
		var got fleet.Infrastructure
		for range 20 {
			got = w.observe()
			_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
		}
		if got.Ready || !strings.Contains(got.Message, "read s3Bucket user-data") || !strings.Contains(got.Message, "name another bucket") {
			w.Errorf("ready %t: %q", got.Ready, got.Message)
		}
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", clusterSpec)
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", bucketSpec)
		w.cluster.Workers[0].Infrastructure = object(w, "AWSMachineTemplate", "nodes", ignitionSpec)
		time.Sleep(2 * tick)
		wantKind(w, "CreateMachine", w.createWith("m-1", w.cluster.Workers[0], "ignition", large), fleet.Unauthorized, "name another bucket")
		w.cluster.Delete = true
		if got := w.observe(); !strings.Contains(got.Message, "what is in the bucket stays: cannot read s3Bucket user-data") {
			w.Errorf("the deletion says %q", got.Message)
		}
		w.dismantle("m-0")
	})
}

// TestFormerBucket: what is stored for a machine goes with it, though Git names another bucket by then.
func TestFormerBucket(t *testing.T) {
	inBubble(t, bucketSpec, ignitionSpec, func(w *world) {
		w.cloud.AddBucket("user-data", false)
		w.settle()
		if err := w.createWith("m-0", w.cluster.Workers[0], "ignition", large); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", clusterSpec)
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, "m-0", ""); err != nil {
			w.Fatal(err)
		}
		if n := w.count(awstest.Objects); n != 0 {
			w.Errorf("%d objects of a machine that is gone", n)
		}
	})
}

// TestBestEffort: with bestEffortDeleteObjects an object that may not be deleted keeps nothing else.
func TestBestEffort(t *testing.T) {
	for name, best := range map[string]bool{"best effort": true, "strict": false} {
		t.Run(name, func(t *testing.T) {
			spec := bucketSpec
			if best {
				spec = strings.Replace(spec, "{name", "{bestEffortDeleteObjects: true, name", 1)
			}
			inBubble(t, spec, ignitionSpec, func(w *world) {
				w.cloud.AddBucket("user-data", false)
				w.settle()
				if err := w.createWith("m-0", w.cluster.Workers[0], "ignition", large); err != nil {
					w.Fatal(err)
				}
				time.Sleep(settle)
				w.cloud.Deny("DeleteObject", true)
				err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, "m-0", "")
				if best {
					if err != nil {
						w.Error(err)
					}
					w.dismantle()
					return
				}
				wantKind(w, "DeleteMachine", err, fleet.Unauthorized, "allow s3:DeleteObject in the policy")
			})
		})
	}
}

// TestPresigned: with presignedURLDuration an instance needs no rights of its own: its URL leads to the object for that time.
func TestPresigned(t *testing.T) {
	inBubble(t, strings.Replace(bucketSpec, "{name", "{presignedURLDuration: 2h, name", 1), ignitionSpec, func(w *world) {
		w.settle()
		if p := w.cloud.Things(awstest.Buckets)[0].Attr["policy"]; strings.Contains(p, "Allow") || !strings.Contains(p, "Deny") {
			w.Errorf("the policy is %s", p)
		}
		if err := w.createWith("m-0", w.cluster.Workers[0], "ignition", large); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		_, source, _ := strings.Cut(w.userDataOf("m-0"), `"source":"`)
		source, _, _ = strings.Cut(source, `"`)
		u, err := url.Parse(strings.ReplaceAll(source, `\u0026`, "&"))
		if err != nil {
			w.Fatal(err)
		}
		q := u.Query()
		if u.Host != "user-data.s3.eu-central-1.amazonaws.com" || q.Get("X-Amz-Expires") != "7200" || q.Get("X-Amz-Signature") == "" {
			w.Errorf("it is %s", u)
		}
		req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, u.String(), nil)
		if err != nil {
			w.Fatal(err)
		}
		resp, err := w.cloud.Client().RoundTrip(req)
		if err != nil {
			w.Fatal(err)
		}
		if body, _ := io.ReadAll(resp.Body); string(body) != large {
			w.Errorf("it leads to %.80q", body)
		}
		_ = resp.Body.Close()
	})
}

// TestNoBucket: a machine that wants a bucket and has none is refused, and one that does not has its configuration as user data.
func TestNoBucket(t *testing.T) {
	const small = `{"ignition":{"version":"3.4.0"}}`
	inBubble(t, clusterSpec, ignitionSpec, func(w *world) {
		w.settle()
		wantKind(w, "CreateMachine", w.createWith("m-0", w.cluster.Workers[0], "ignition", small), fleet.Invalid, "has no s3Bucket", "UnencryptedUserData")
		found, err := w.provider.Check(w.Context(), []*fleet.Cluster{&w.cluster})
		if err != nil || !slices.ContainsFunc(found, func(f providers.Finding) bool {
			return f.Err != nil && strings.Contains(f.Err.Error(), "has no s3Bucket")
		}) {
			w.Errorf("findings %+v, %v", found, err)
		}
		w.cluster.Workers[0].Infrastructure = object(w, "AWSMachineTemplate", "plain", `{instanceType: m6i.large, sshKeyName: ops, ignition: {storageType: UnencryptedUserData}}`)
		wantKind(w, "CreateMachine", w.createWith("m-0", w.cluster.Workers[0], "ignition", large), fleet.Invalid, "16384")
		if err := w.createWith("m-0", w.cluster.Workers[0], "ignition", small); err != nil {
			w.Fatal(err)
		}
		if data := w.userDataOf("m-0"); data != small {
			w.Errorf("user data is %s", data)
		}
	})
}

// TestParameterStore: user data is in parameters of SSM, the instance puts it together, and it is gone with the machine and
// half an hour after its start, also when no template says so any more.
func TestParameterStore(t *testing.T) {
	content := "#cloud-config\n"
	for n := range 4000 { // which no compression makes small
		content += "# " + base64.StdEncoding.EncodeToString([]byte{byte(n * 7), byte(n * n), byte(n >> 3), byte(n * 13), byte(n >> 5)}) + "\n"
	}
	var parts []awstest.Thing
	var data string
	inBubble(t, clusterSpec, parameterSpec, func(w *world) {
		w.settle()
		for _, name := range []fleet.MachineName{"m-0", "m-1"} {
			if err := w.createWith(name, w.cluster.Workers[0], "cloud-config", content); err != nil {
				w.Fatal(err)
			}
		}
		time.Sleep(settle)
		data = w.userDataOf("m-0")
		parts = slices.DeleteFunc(w.cloud.Things(awstest.Parameters), func(p awstest.Thing) bool { return p.Tags["fairlead.dev/machine"] != "m-0" })
		if len(parts) < 3 || w.count(awstest.StoredSecrets) != 0 {
			w.Errorf("%d parameters and %d secrets", len(parts), w.count(awstest.StoredSecrets))
		}
		for i := range w.cluster.Workers {
			w.cluster.Workers[i].Infrastructure = object(w, "AWSMachineTemplate", "nodes", machineSpec)
		}
		w.cluster.ControlPlane.Infrastructure = w.cluster.Workers[0].Infrastructure
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, "m-0", ""); err != nil {
			w.Fatal(err)
		}
		if n := w.count(awstest.Parameters); n != len(parts) {
			w.Errorf("%d parameters after the first machine is gone, want %d", n, len(parts))
		}
		time.Sleep(31 * time.Minute)
		w.settle()
		if n := w.count(awstest.Parameters); n != 0 {
			w.Errorf("%d parameters of a machine that runs", n)
		}
	})
	if got := booted(t, data, parts); got != content {
		t.Errorf("the instance boots with %d bytes, want %d", len(got), len(content))
	}
}

// booted runs the script in user data, with an AWS CLI that knows these parameters, and returns what cloud-init would read.
func booted(t *testing.T, data string, parts []awstest.Thing) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range parts {
		name := strings.ReplaceAll(p.Attr["name"], "/", "_")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(p.Attr["value"]+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cli := "#!/bin/bash\n[ \"$1 $2 $3 $4 $5\" = 'ssm get-parameter --region eu-central-1 --name' ] && cat \"" + dir + "/${6//\\//_}\"\n"
	if err := os.WriteFile(filepath.Join(dir, "aws"), []byte(cli), 0o700); err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(data, "#cloud-boothook\n")
	script, _, _ = strings.Cut(script, "\n--fairlead-user-data")
	to := filepath.Join(dir, "user-data")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(script, "/etc/fairlead-user-data", to))
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// TestLostAnswerKeepsUserData: where an earlier request may have made the instance, what is stored for it stays.
func TestLostAnswerKeepsUserData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := slowly()
		w := &world{T: t, cloud: c, provider: newProvider(c.Client()), cluster: newCluster(t, strings.Replace(bucketSpec, "{name", "{presignedURLDuration: 2h, name", 1), ignitionSpec)}
		w.settle()
		end := c.Inject(awstest.Fault{Action: "RunInstances", Times: 1, Cut: awstest.After})
		wantKind(w, "a lost answer", w.createWith("m-0", w.cluster.Workers[0], "ignition", large), fleet.Unanswered)
		end()
		time.Sleep(time.Second) // the URL is another one
		wantKind(w, "the same machine again", w.createWith("m-0", w.cluster.Workers[0], "ignition", large), fleet.Unavailable, "does not show yet")
		if n := w.count(awstest.Objects); n != 1 {
			t.Errorf("%d objects", n)
		}
	})
}

// TestParametersAgain: what a request that failed stored gives way to what the next one stores.
func TestParametersAgain(t *testing.T) {
	inBubble(t, clusterSpec, parameterSpec, func(w *world) {
		w.settle()
		end := w.cloud.Inject(awstest.Fault{Action: "RunInstances", Times: 1, Status: http.StatusServiceUnavailable, Code: "RequestLimitExceeded"})
		wantKind(w, "a full bucket", w.createWith("m-0", w.cluster.Workers[0], "cloud-config", "#cloud-config\n"), fleet.Unavailable)
		end()
		before := w.cloud.Things(awstest.Parameters)[0].Attr["value"]
		if err := w.createWith("m-0", w.cluster.Workers[0], "cloud-config", "#cloud-config\n{}\n"); err != nil {
			w.Fatal(err)
		}
		if all := w.cloud.Things(awstest.Parameters); len(all) != 1 || all[0].Attr["value"] == before {
			w.Errorf("parameters %+v", all)
		}
	})
}

// TestUnlistedStore: that a store may not be listed is told, and the cluster goes on. It is not deleted before what is in
// there can be.
func TestUnlistedStore(t *testing.T) {
	for action, specs := range map[string][3]string{
		"DescribeParameters": {clusterSpec, parameterSpec, "cloud-config"}, "ListBucket": {bucketSpec, ignitionSpec, "ignition"},
	} {
		t.Run(action, func(t *testing.T) {
			inBubble(t, specs[0], specs[1], func(w *world) {
				w.cloud.AddBucket("user-data", false)
				w.settle()
				if err := w.createWith("m-0", w.cluster.Workers[0], specs[2], `{"ignition":{"version":"3.4.0"}}`); err != nil {
					w.Fatal(err)
				}
				time.Sleep(settle)
				w.cloud.Deny(action, true)
				if got := w.observe(); !got.Ready || len(got.Machines) != 1 || !strings.Contains(strings.Join(got.Drift, "\n"), ":"+action+" in the policy") {
					w.Errorf("ready %t, machines %v, drift %q", got.Ready, got.Machines, got.Drift)
				}
				w.cluster.Delete = true
				time.Sleep(2 * tick)
				_, err := w.provider.Observe(w.Context(), &w.cluster)
				wantKind(w, "Observe", err, fleet.Unauthorized, ":"+action+" in the policy")
				w.cloud.Deny(action, false)
				w.dismantle("m-0")
			})
		})
	}
}

// TestObjectsThatStay: the bucket of a cluster stays with objects that may stay and cannot be deleted, and is no reason to
// wait.
func TestObjectsThatStay(t *testing.T) {
	inBubble(t, strings.Replace(bucketSpec, "{name", "{bestEffortDeleteObjects: true, name", 1), ignitionSpec, func(w *world) {
		w.settle()
		if err := w.createWith("m-0", w.cluster.Workers[0], "ignition", large); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		w.cloud.Deny("DeleteObject", true)
		w.dismantle("m-0")
		if left := w.cloud.Contents(); len(left) != 2 || w.count(awstest.Buckets) != 1 || w.count(awstest.Objects) != 1 {
			w.Errorf("left over: %q", left)
		}
	})
}

// TestOrphansWithoutParameters: orphans are listed though parameters cannot be. That is told, unless the agent has no right
// to list any and no cluster keeps user data there.
func TestOrphansWithoutParameters(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		other := w.cluster
		other.Key.Name = "another"
		orphans := func() error {
			time.Sleep(2 * tick)
			lost, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other})
			if len(lost) < 10 {
				w.Errorf("orphans are %v", lost)
			}
			return err
		}
		end := w.cloud.Inject(awstest.Fault{Action: "DescribeParameters", Status: http.StatusInternalServerError, Code: "InternalServerError"})
		wantKind(w, "without an answer", orphans(), fleet.Unavailable, "list parameters")
		end()
		w.cloud.Deny("DescribeParameters", true)
		if err := orphans(); err != nil {
			w.Error(err)
		}
		other.Workers[0].Infrastructure = object(w, "AWSMachineTemplate", "nodes", parameterSpec)
		wantKind(w, "beside a cluster with parameters", orphans(), fleet.Unauthorized, "allow ssm:DescribeParameters in the policy")
	})
}

// TestIgnitionVersions: user data that leads to a configuration is in the form of its version.
func TestIgnitionVersions(t *testing.T) {
	for version, want := range map[string]string{
		"2.3.0": `{"ignition":{"config":{"append":[{"source":"s3://`, "3.0.0": `{"ignition":{"config":{"merge":[{"source":"s3://`,
	} {
		content := `{"ignition":{"version":"` + version + `"}}`
		inBubble(t, bucketSpec, `{instanceType: m6i.large, iamInstanceProfile: nodes, sshKeyName: ops, ignition: {}}`, func(w *world) {
			w.settle()
			if err := w.createWith("m-0", w.cluster.Workers[0], "ignition", content); err != nil {
				w.Fatal(err)
			}
			time.Sleep(settle)
			if got := w.userDataOf("m-0"); !strings.HasPrefix(got, want) {
				w.Errorf("user data is %s", got)
			}
			w.cluster.Workers[0].Infrastructure = object(w, "AWSMachineTemplate", "nodes", ignitionSpec)
			wantKind(w, version+" with a proxy", w.createWith("m-1", w.cluster.Workers[0], "ignition", content), fleet.Invalid, "need 3.1 or newer")
		})
	}
}

// TestBucketThatGoes: a bucket is deleted after what is in it for machines that are gone.
func TestBucketThatGoes(t *testing.T) {
	inBubble(t, bucketSpec, ignitionSpec, func(w *world) {
		w.settle()
		w.cloud.AddObject("user-data", "fairlead/fleet-a/prod/eu-1/node/m-0/0")
		w.dismantle()
		if n := w.asked("DeleteBucket"); n != 1 {
			w.Errorf("its deletion was asked for %d times", n)
		}
	})
}

// TestRefusedMachineLeavesNothing: what was stored for a machine that is refused goes, however many parts it has.
func TestRefusedMachineLeavesNothing(t *testing.T) {
	content := "#cloud-config\n"
	for n := range 3000 { // which no compression makes small
		content += "# " + base64.StdEncoding.EncodeToString([]byte{byte(n * 7), byte(n * n), byte(n >> 3), byte(n * 13), byte(n >> 5)}) + "\n"
	}
	inBubble(t, clusterSpec, parameterSpec, func(w *world) {
		w.settle()
		parts := 0
		w.cloud.Inject(awstest.Fault{Action: "RunInstances", Status: http.StatusBadRequest, Code: "InvalidParameterValue", Do: func(awstest.Call) { parts = w.count(awstest.Parameters) }})
		wantKind(w, "CreateMachine", w.createWith("m-0", w.cluster.Workers[0], "cloud-config", content), fleet.Invalid)
		if n := w.count(awstest.Parameters); parts < 2 || n > 0 {
			w.Errorf("%d parameters of %d are left", n, parts)
		}
	})
}
