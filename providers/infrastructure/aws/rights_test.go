package aws_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/test/run/short"
)

var update = flag.Bool("update", false, "write policy.json")

// rightsLife is the life of a cluster that makes each kind of request, as far as it gets, or
// until people are told enough; empty: to its end. It returns the permissions that it took, and what they were told.
func rightsLife(t *testing.T, c *awstest.Cloud, spec, machine, enough string) (taken map[string]bool, told string) {
	w := &world{T: t, cloud: c, provider: newProvider(c.Client()), cluster: newCluster(t, spec, machine)}
	defer w.provider.Close()
	w.cluster.Companions = []fleet.Object{object(t, "AWSClusterRoleIdentity", "a", `{allowedNamespaces: {}, roleARN: "arn:aws:iam::123456789012:role/a", sourceIdentityRef: {kind: AWSClusterControllerIdentity, name: default}}`)}
	var said []string
	say := func(err error) {
		if err != nil {
			said = append(said, err.Error())
		}
	}
	over := func() bool { return enough != "" && strings.Contains(strings.Join(said, "\n"), enough) }
	look := func() fleet.Infrastructure {
		time.Sleep(2 * tick)
		got, err := w.provider.Observe(t.Context(), &w.cluster)
		say(err)
		said = append(append(said, got.Message), got.Drift...)
		return got
	}
	keep := func() {
		for range 30 {
			if got := look(); over() || got.Ready && len(got.Drift) == 0 {
				return
			}
			say(w.provider.EnsureInfrastructure(t.Context(), "op", &w.cluster))
		}
	}
	check := func() {
		found, err := w.provider.Check(t.Context(), []*fleet.Cluster{&w.cluster})
		say(err)
		for _, f := range found {
			say(f.Err)
		}
	}
	check()
	keep()
	if check(); over() {
		return nil, strings.Join(said, "\n")
	}
	format, empty, more := "cloud-config", "#cloud-config\n", "#cloud-config\n{}\n"
	if strings.Contains(machine, "ignition") {
		format, empty, more = "ignition", `{"ignition":{"version":"3.4.0"}}`, `{"ignition":{"version":"3.4.0"}, "storage":{}}`
	}
	create := func(name fleet.MachineName, pool fleet.Pool, data string) {
		say(w.provider.CreateMachine(t.Context(), fleet.OperationID("op-"+name), providers.MachineRequest{
			Cluster: &w.cluster, Pool: pool, Name: name, UserData: providers.UserData{Format: format, Content: fleet.NewSecret([]byte(data))},
		}))
	}
	create("cp-0", w.cluster.ControlPlane, empty)
	second := w.cluster.ControlPlane
	if format == "cloud-config" {
		second.Infrastructure = object(t, "AWSMachineTemplate", "nodes", parameterSpec)
	}
	create("cp-1", second, empty)
	for _, x := range c.Things(awstest.Interfaces) {
		if x.Attr["description"] == "of people" {
			w.cluster.Workers[0].Infrastructure = object(t, "AWSMachineTemplate", "nodes", strings.Replace(machine, "{", "{networkInterfaces: ["+x.ID+"], ", 1))
		}
	}
	end := c.Inject(awstest.Fault{Action: "RunInstances", Times: 1, Status: http.StatusServiceUnavailable, Code: "RequestLimitExceeded"})
	create("m-0", w.cluster.Workers[0], empty) // what is stored stays, and has other content next time
	end()
	create("m-0", w.cluster.Workers[0], more)
	time.Sleep(11 * time.Minute) // attributes of load balancers are read again
	keep()
	check()
	for _, g := range c.Things(awstest.Groups) {
		c.Edit(g.ID, func(g *awstest.Thing) { g.Sets["rules"] = append(g.Sets["rules"], "tcp\x0022\x0022\x000.0.0.0/0\x00") })
	}
	for _, x := range c.Things(awstest.RouteTables) {
		c.Edit(x.ID, func(x *awstest.Thing) {
			for i, r := range x.Sets["routes"] {
				x.Sets["routes"][i] = strings.Replace(r, "nat-", "nat-0", 1)
			}
		})
	}
	keep()
	w.cluster.Infrastructure = object(t, "AWSCluster", "eu-1", strings.Replace(spec, "{", "{additionalTags: {team: a}, ", 1))
	for _, x := range c.Things(awstest.TargetGroups) {
		c.Edit(x.ID, func(x *awstest.Thing) { x.Attr["HealthCheckIntervalSeconds"] = "99" })
	}
	keep()
	say(w.provider.DeleteMachine(t.Context(), "op", &w.cluster, "cp-1", ""))
	_, err := w.provider.Untagged(t.Context(), &w.cluster, []fleet.ProviderID{"aws:///eu-central-1a/i-0123"})
	say(err)
	w.cluster.Delete = true
	for _, name := range []fleet.MachineName{"cp-0", "m-0"} {
		say(w.provider.DeleteMachine(t.Context(), "op", &w.cluster, name, ""))
	}
	for range 30 {
		time.Sleep(settle)
		if got := look(); over() || !got.Exists {
			break
		}
		say(w.provider.DeleteInfrastructure(t.Context(), "op", &w.cluster))
	}
	taken = make(map[string]bool)
	for _, call := range c.Calls() {
		taken[call.Service+":"+call.Action] = true
	}
	return taken, strings.Join(said, "\n")
}

// managedRightsLife is the life of a cluster of EKS that makes each kind of request, without one permission; empty: with all.
func managedRightsLife(t *testing.T, denied string) (taken map[string]bool, told string) {
	const (
		access = identityProvider + "associateOIDCProvider: true, accessConfig: {authenticationMode: api_and_config_map}, accessEntries: [{principalARN: 'arn:aws:iam::123456789012:role/a', accessPolicies: [{policyARN: 'arn:a', accessScope: {type: cluster}}]}], addons: [{name: vpc-cni, version: v1.33.0-eksbuild.1}], "
		other  = identityProvider + "associateOIDCProvider: true, accessConfig: {authenticationMode: api}, encryptionConfig: {provider: 'arn:aws:kms:k'}, additionalTags: {a: b}, accessEntries: [{principalARN: 'arn:aws:iam::123456789012:role/a', kubernetesGroups: [g]}], addons: [{name: vpc-cni, version: v1.33.0-eksbuild.2}], "
		group  = `{eksNodegroupName: prod_pool, labels: {tier: web}, awsLaunchTemplate: {instanceType: m6i.large, rootVolume: {size: 30}}}`
		none   = "accessConfig: {authenticationMode: api}, encryptionConfig: {provider: 'arn:aws:kms:k'}, "
	)
	inCluster(t, strings.Replace(planeSpec, "{", "{"+access, 1), group, func(w *managedWorld) {
		enough := ""
		if denied != "" {
			_, action, _ := strings.Cut(denied, ":")
			w.cloud.Deny(action, true)
			enough = "(allow " + denied + " in the policy"
		}
		said := func() string { return fmt.Sprint(w.errs) }
		disk := func(size string) { w.group(strings.NewReplacer("web", "db", "size: 30", "size: "+size).Replace(group)) }
		over := func() bool { return enough != "" && strings.Contains(said(), enough) }
		rest := func() {
			for range 60 {
				if w.step() || over() {
					return
				}
			}
		}
		for _, next := range []func(){
			func() {
				found, err := w.provider.Check(w.Context(), []*fleet.Cluster{&w.cluster})
				w.say(err)
				for _, f := range found {
					w.say(f.Err)
				}
			},
			func() {
				for _, x := range w.cloud.Things(awstest.Trusts) {
					w.cloud.Edit(x.ID, func(x *awstest.Thing) { x.Sets["audiences"] = nil })
				}
				time.Sleep(10 * time.Minute)
				w.fargate(systemPods)
				_, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&w.cluster})
				w.say(err)
				w.change("{", "{"+other)
				disk("31")
			},
			func() { disk("32") },
			func() { disk("33") }, // and the second version goes
			func() {
				w.change("v1.33.5", "v1.34, "+strings.TrimSuffix(none, ", "))
				w.cluster.KeptPools[0].Version = "v1.34.0"
			},
			func() { w.cluster.Delete = true },
		} {
			if next(); !over() {
				rest()
			}
		}
		if taken = make(map[string]bool); denied == "" {
			for _, call := range w.cloud.Calls() {
				taken[call.Service+":"+call.Action] = true
			}
		}
		told = said()
	})
	return taken, told
}

// rightsLives are lives that make each kind of request together, without one permission; empty: with all.
func rightsLives(t *testing.T, denied string) (taken map[string]bool, told string) {
	taken = make(map[string]bool)
	run := func(t *testing.T, spec, machine string, c *awstest.Cloud) {
		enough := ""
		if denied != "" {
			_, action, _ := strings.Cut(denied, ":")
			c.Deny(action, true)
			enough = "(allow " + denied + " in the policy"
		}
		if enough != "" && strings.Contains(told, enough) {
			return
		}
		some, said := rightsLife(t, c, spec, machine, enough)
		maps.Copy(taken, some)
		told += said
	}
	ofEKS := strings.HasPrefix(denied, "eks:") || strings.HasPrefix(denied, "iam:") || strings.Contains(denied, "LaunchTemplate")
	adopt := func(w *world, machines []providers.AdoptedMachine) {
		if _, action, _ := strings.Cut(denied, ":"); action != "" {
			w.cloud.Deny(action, true)
		}
		for _, do := range []func(context.Context, *fleet.Cluster, []providers.AdoptedMachine) error{w.provider.Adopt, w.provider.Release} {
			if err := do(w.Context(), &w.cluster, machines); err != nil {
				told += err.Error()
			}
			time.Sleep(settle)
		}
		for _, call := range w.cloud.Calls() {
			taken[call.Service+":"+call.Action] = true
		}
	}
	if denied == "" || ofEKS {
		some, said := managedRightsLife(t, denied)
		maps.Copy(taken, some)
		told += said
		adoptsManaged(t, func(w *adoptingManaged) {
			adopt(&world{T: w.T, cloud: w.cloud, provider: w.provider, cluster: w.cluster}, w.machines)
		})
	}
	if ofEKS {
		return taken, told
	}
	for _, classic := range []bool{false, true} {
		adopts(t, awstest.CAPA{Classic: classic}, "", func(w *adopting) { adopt(w.world, w.machines) })
	}
	synctest.Test(t, func(t *testing.T) {
		const role = "{identityRef: {kind: AWSClusterRoleIdentity, name: a}, network: {vpc: {ipamPool: {name: machines}, ipv6: {}, emptyRoutesDefaultVPCSecurityGroup: true, secondaryCidrBlocks: [{ipv4CidrBlock: 100.64.0.0/16}]}}, region"
		c := slowly()
		c.AddPool("machines", "10.20.0.0")
		run(t, strings.Replace(clusterSpec, "{region", role, 1), machineSpec, c)
		c = slowly()
		c.AddParameter("/images/ubuntu", "ami-00000000000000002")
		vpc, _, private := c.AddVPC("10.7.0.0/16")
		c.AddNetworkInterface(private[0], c.AddGroup(vpc, "people"))
		const bucket = "s3Bucket: {name: user-data, controlPlaneIAMInstanceProfile: cps, nodesIAMInstanceProfiles: [nodes]}"
		run(t, "{"+bucket+", network: {vpc: {id: "+vpc+"}}, region: eu-central-1}", strings.Replace(machineSpec, "{", "{ignition: {}, ami: {id: 'resolve:ssm:/images/ubuntu'}, ", 1), c)
	})
	return taken, told
}

// TestEachRight: where one permission is missing, people are told its name, and nothing that only AWS can read. The
// lives make each request that the provider can make.
func TestEachRight(t *testing.T) {
	taken, _ := rightsLives(t, "")
	if d := cmp.Diff(slices.Sorted(maps.Keys(actionsInSource(t))), actionsOf(taken)); d != "" {
		t.Errorf("requests in the source, and those that the lives made: %s", d)
	}
	for _, right := range short.Of(t, 10, slices.Sorted(maps.Keys(taken))) {
		if right == "sts:GetCallerIdentity" { // no policy can deny it
			continue
		}
		t.Run(right, func(t *testing.T) {
			_, told := rightsLives(t, right)
			if !strings.Contains(told, "(allow "+right+" in the policy") {
				t.Errorf("people are told\n%s", told)
			}
			if strings.Contains(told, "x9Kq") {
				t.Errorf("people are told what only AWS can read")
			}
		})
	}
}

// TestRightsOfRequests: what a request needs beside its own name is told by its name, too.
func TestRightsOfRequests(t *testing.T) {
	for right, action := range map[string]string{"ec2:CreateTags": "CreateVpc", "iam:PassRole": "RunInstances"} {
		inBubble(t, clusterSpec, machineSpec, func(w *world) {
			lack := awstest.Fault{
				Action: action, Status: http.StatusForbidden, Code: "UnauthorizedOperation",
				Message: "You are not authorized to perform this operation. User: u is not authorized to perform: " + right + " on resource: r. Encoded authorization failure message: x9Kq",
			}
			if action == "RunInstances" {
				w.settle()
				w.cloud.Inject(lack)
				wantKind(w, action, w.create("m-0", w.cluster.Workers[0], ""), fleet.Unauthorized, "(allow "+right+" in")
				return
			}
			w.cloud.Inject(lack)
			wantKind(w, action, w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster), fleet.Unauthorized, "(allow "+right+" in")
		})
	}
}

func actionsOf(rights map[string]bool) []string {
	var out []string
	for r := range rights {
		_, action, _ := strings.Cut(r, ":")
		out = append(out, action)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// actionsInSource returns the actions that package cloud asks for.
func actionsInSource(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("cloud/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source: %v", err)
	}
	action := regexp.MustCompile(`[^:]"((?:Describe|Create|Delete|Remove|Get|List|Put|Run|Terminate|Attach|Detach|Allocate|Release|Associate|Disassociate|Authorize|Revoke|Modify|Register|Deregister|Configure|Assume|Update|Add|Tag|Untag)[A-Z]\w+)"`)
	out := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range action.FindAllStringSubmatch(string(text), -1) {
			out[m[1]] = true
		}
	}
	return out
}

// A statement is one of a policy.
type statement struct {
	Sid       string
	Effect    string
	Action    []string
	Resource  any                       // a string, or some
	Condition map[string]map[string]any `json:",omitempty"`
}

// policy returns what allows rights, and no more than AWS can tell apart: what Fairlead deletes is to have its tag, and
// what it changes of EKS, secrets have its prefix, and only things that are just made are tagged. Of EKS, AWS cannot tell
// what is just made from what is there: what is tagged is to get a tag of Fairlead.
// Source: Service Authorization Reference, "Actions, resources, and condition keys for Amazon Elastic Kubernetes Service".
func policy(rights []string) string {
	looks := statement{Sid: "Look", Resource: "*"}
	change := statement{Sid: "Change", Resource: "*"}
	made, asked := map[string]map[string]any{"Null": {"aws:ResourceTag/fairlead.dev/fleet": "false"}}, map[string]map[string]any{"Null": {"aws:RequestTag/fairlead.dev/fleet": "false"}}
	trusts := statement{Sid: "OIDCProvidersOfEKS", Resource: "arn:*:iam::*:oidc-provider/oidc.eks.*"}
	ofEKS := []string{"arn:*:eks:*:*:cluster/*", "arn:*:eks:*:*:nodegroup/*", "arn:*:eks:*:*:access-entry/*", "arn:*:eks:*:*:addon/*", "arn:*:eks:*:*:fargateprofile/*", "arn:*:eks:*:*:identityproviderconfig/*"}
	tag := statement{Sid: "TagWhatFairleadMade", Resource: "*", Condition: made}
	remove := statement{Sid: "RemoveWhatFairleadMade", Resource: "*", Condition: made}
	adopt := statement{Sid: "AdoptFromClusterAPI", Resource: "*", Action: []string{"ec2:CreateTags"}, Condition: map[string]map[string]any{"Null": {"aws:ResourceTag/sigs.k8s.io/cluster-api-provider-aws/role": "false"}}}
	clusters := statement{Sid: "NewClustersOfEKS", Resource: "*", Condition: asked}
	mark := statement{Sid: "MarkWhatIsMadeOfEKS", Resource: ofEKS, Condition: asked}
	changes := statement{Sid: "ChangeWhatIsMarkedOfEKS", Resource: ofEKS, Condition: made}
	parameters := statement{Sid: "UserDataInParameters", Resource: "arn:*:ssm:*:*:parameter/fairlead/*", Action: []string{"ssm:AddTagsToResource"}}
	buckets := statement{Sid: "Buckets", Resource: "arn:*:s3:::fairlead-*", Action: []string{"s3:TagResource"}}
	objects := statement{Sid: "UserDataInBuckets", Resource: "arn:*:s3:::fairlead-*/fairlead/*", Action: []string{"s3:GetObject"}} // which presigned URLs do
	secrets := statement{Sid: "UserData", Resource: "arn:*:secretsmanager:*:*:secret:fairlead/*"}
	roles := statement{Sid: "AssumeRolesOfIdentities", Resource: "arn:*:iam::*:role/fairlead-*"}
	var makers []string
	for _, r := range rights {
		service, action, _ := strings.Cut(r, ":")
		in := &change
		switch {
		case r == "sts:GetCallerIdentity":
			continue
		case service == "sts":
			in = &roles
		case r == "ec2:CreateTags":
			in = &tag
		case r == "ec2:DeleteTags":
			in = &adopt
		case service == "s3" && strings.HasSuffix(action, "Object"):
			in = &objects
		case service == "s3":
			in = &buckets
		case strings.HasPrefix(action, "Describe"), strings.HasPrefix(action, "List"), strings.HasPrefix(action, "Get"):
			in = &looks
		case service == "iam":
			in = &trusts
		case service == "secretsmanager":
			in = &secrets
		case service == "ssm":
			in = &parameters
		case r == "eks:CreateCluster": // which is of no resource yet
			in = &clusters
		case r == "eks:CreateAccessEntry": // CreateCluster asks for it, too, and then there is nothing that has a tag
			in = &mark
		case service == "eks" && !strings.HasPrefix(action, "Delete"), action == "DeleteAccessEntry", action == "DeleteAddon", action == "DeleteFargateProfile":
			in = &changes
		case slices.Contains([]string{"DeleteCluster", "DeleteNodegroup", "TerminateInstances", "DeleteVpc", "DeleteSubnet", "DeleteRouteTable", "DeleteInternetGateway", "DeleteEgressOnlyInternetGateway", "DeleteNatGateway", "ReleaseAddress", "CreateLaunchTemplateVersion", "DeleteLaunchTemplateVersions", "DeleteLaunchTemplate"}, action):
			in = &remove
		}
		in.Action = append(in.Action, r)
		if service == "ec2" && (strings.HasPrefix(action, "Create") && action != "CreateRoute" && action != "CreateTags" && action != "CreateLaunchTemplateVersion" || action == "AllocateAddress" || action == "RunInstances") {
			makers = append(makers, action)
		}
	}
	mark.Action = append(mark.Action, "eks:TagResource")
	secrets.Action = append(secrets.Action, "secretsmanager:TagResource")
	looks.Action = append(looks.Action, "ssm:GetParameters", "iam:GetRole", "iam:ListAttachedRolePolicies")
	statements := []statement{
		looks, change, clusters, mark, changes, trusts, tag, adopt, remove, secrets, parameters, buckets, objects,
		{Sid: "RolesOfEKS", Action: []string{"iam:PassRole"}, Resource: "arn:*:iam::*:role/eks-*", Condition: map[string]map[string]any{"StringLike": {"iam:PassedToService": []string{"ec2.amazonaws.com*", "eks.amazonaws.com", "eks-fargate-pods.amazonaws.com"}}}},
		{Sid: "KeysOfEKS", Action: []string{"kms:CreateGrant", "kms:DescribeKey"}, Resource: "*", Condition: map[string]map[string]any{"StringLike": {"kms:ViaService": "eks.*"}}},
		{Sid: "TagWhatIsMade", Action: []string{"ec2:CreateTags"}, Resource: "*", Condition: map[string]map[string]any{"StringEquals": {"ec2:CreateAction": makers}}},
		{Sid: "ProfilesOfMachines", Action: []string{"iam:PassRole"}, Resource: "arn:*:iam::*:role/fairlead-*", Condition: map[string]map[string]any{"StringLike": {"iam:PassedToService": "ec2.amazonaws.com*"}}},
		{Sid: "FirstLoadBalancer", Action: []string{"iam:CreateServiceLinkedRole"}, Resource: "*", Condition: map[string]map[string]any{"StringEquals": {"iam:AWSServiceName": []string{"eks-fargate.amazonaws.com", "eks-nodegroup.amazonaws.com", "eks.amazonaws.com", "elasticloadbalancing.amazonaws.com", "spot.amazonaws.com"}}}},
		roles,
	}
	for i := range statements {
		statements[i].Effect = "Allow"
		slices.Sort(statements[i].Action)
	}
	out, err := json.MarshalIndent(map[string]any{"Version": "2012-10-17", "Statement": statements}, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(out)
}

// TestPolicy: policy.json, which the guide names, allows what the provider asks for.
func TestPolicy(t *testing.T) {
	const file = "policy.json"
	taken, _ := rightsLives(t, "")
	want := policy(slices.Sorted(maps.Keys(taken))) + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is out of date (write it with -update): %s", file, diff)
	}
}

// TestPolicyOfEKS: nothing of EKS is changed that has no tag of Fairlead, and gets none.
func TestPolicyOfEKS(t *testing.T) {
	data, err := os.ReadFile("policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Statement []statement }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range all.Statement {
		for _, action := range s.Action {
			of, is := strings.CutPrefix(action, "eks:")
			if !is || strings.HasPrefix(of, "Describe") || strings.HasPrefix(of, "List") {
				continue
			}
			n++
			if is := s.Condition["Null"]; is["aws:ResourceTag/fairlead.dev/fleet"] != "false" && is["aws:RequestTag/fairlead.dev/fleet"] != "false" {
				t.Errorf("%s is allowed of everything in the account", action)
			}
		}
	}
	if n < 15 {
		t.Errorf("the policy has %d permissions of EKS", n)
	}
}

// TestSymptoms: the messages in the guide's table are those of the provider, or of the double.
func TestSymptoms(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guides/infrastructure/aws.md")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, pattern := range []string{"*.go", "cloud/*.go", "awstest/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(b)
		}
	}
	_, table, _ := strings.Cut(string(text), "## Troubleshooting")
	n := 0
	for row := range strings.Lines(table) {
		message, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		for _, quoted := range regexp.MustCompile("`[^`]*`").FindAllString(message, -1) {
			for part := range strings.SplitSeq(strings.Trim(quoted, "`"), "…") {
				const telling = 12 // shorter ones are anywhere
				if part = strings.TrimSpace(part); len(part) < telling {
					continue
				}
				if n++; !strings.Contains(source.String(), part) {
					t.Errorf("nothing tells %q", part)
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("the table has %d messages", n)
	}
}
